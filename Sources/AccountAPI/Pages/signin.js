// The page on which people sign in. It calls only the public API: Concord's own routes and the compatible ones.
//
// The address names what to do, behind the `#`: an app's request, or the link of a mail. The page moves it to the state
// of this tab's history entry, which a reload restores and which no other tab and no server sees (ADR 0022), and removes
// it from the address. Opening the page changes nothing, so mail scanners may open it. The buttons do.
//
// Before the person has proven anything, every address gets the same words. Only this browser's own storage names the
// method used last, and only a device token gets the methods of an account without a mail.
//
// The app gets the session by a one-time code (ADR 0121). The ID token is never stored. While the browser is at a
// provider's page, the session storage has the request of the app and the handles that wait for the sign-in, but no
// token of a session and no secret of a mail. While it is at the page of a challenge, whose script is a third party's,
// the session storage has only the id of the trip.

import {
  app, build, dialable, digits, fill, markBusy, offerLanguages, preferredLanguage, rules, spaced,
} from "./common.js";
import {
  account, accounts, accountTripKey, call, challengeOf, claims, forget, Problem, randomText, remember, Session, speak,
  typeOf,
} from "./service.js";

const { languages, names, strings } = await (await fetch(new URL("signin.json", import.meta.url))).json();

const appName = "signin";
// Session storage: this page's request while the browser is at a provider or a challenge.
const tripKey = "concord:signin";
// Local storage: the app's request while a mail is on its way, for the tab that the mail opens, and for how long.
const mailedKey = "concord:signin:mailed";
const mailedTime = 3_600_000;
// The address of this page, without what stands behind it.
const page = location.origin + location.pathname;

// Problems that end the page. The text of each says where to continue.
const stoppers = ["conflict-closed", "conflict-expired", "conflict-unknown", "sign-up-unusable", "user-disabled"];
// The field that a problem is about, or the fields of which a step has one.
const fields = {
  "code-incomplete": "code-field",
  "country-missing": "phone-field",
  "invalid-email": ["email-field", "other-field"],
  "invalid-phone-number": "phone-field",
  "missing-number": "phone-field",
  "missing-password": "password-field",
  "number-too-long": "phone-field",
  "number-too-short": "phone-field",
  "region-disabled": "phone-field",
  "weak-password": "password-field",
  "wrong-password": "password-field",
  "wrong-proof": "code-field",
};
// The members of the state that a new sign-in does not need.
const ofOneSignIn = [
  "code", "conflict", "ended", "factor", "first", "key", "linking", "lookup", "mailed", "only", "phone", "refreshToken",
  "signUp", "trip", "way", "ways",
];

// The state of the visit:
// - of the request: `app`, `email`, `language`, `isReauthentication` (of `user`, an id), `allowed` (methods),
//   `except` (an account);
// - of a mail's link: `lookup` (its secret), `way` (its button), `signUp` (a handle and a secret);
// - of this sign-in: `step`, `ways` (the methods of the account, and a proof if there is one), `only` (the method that
//   the person chose), `mailed` (addresses), `code` (for a new password), `phone`, `factor`, `trip` (to a provider),
//   `key` (an Idempotency-Key), and a provider's credential that waits for an answer (`first`), a proof (`conflict`) or
//   a sign-in (`linking`);
// - of its end: `ended`, `refreshToken`.
let kept = history.state ?? {};
let language = "en";
// The project, as the page shows it; null before it is read.
let project = null;
let policy = null;
let session = null;
// The return to the app: null if it sent none; `isForeign` if the project does not authorize its page.
let destination = null;
let hasAccountPage = false;
// The step on the screen; null builds it anew.
let shown = null;
// The type of the problem that ends the page.
let reason = null;
// The names of the strings for the problem and the status, and the time at which the person can try again.
let problem = null;
let status = null;
let wait = null;
let isBusy = false;
// True if this page gives way to another visit in the same tab.
let isOver = false;

const byId = (id) => document.getElementById(id);
const valueOf = (id) => byId(id)?.value ?? "";

function keep(changes) {
  // An action that another visit interrupted must not write into that one.
  if (isOver) return;
  kept = { ...kept, ...changes };
  history.replaceState(kept, "", location.pathname);
}

// Forgets this sign-in, but not the app that asked for it.
function clear(changes) {
  keep({ ...Object.fromEntries(ofOneSignIn.map((name) => [name, undefined])), ...changes });
}

// Arrival

// Reads what stands behind the `#`, and removes it from the address.
function takeFragment() {
  const fragment = location.hash.slice(1);
  if (!fragment) return;
  const values = new URLSearchParams(fragment);
  const get = (name) => values.get(name) || undefined;
  const continueUrl = get("continueUrl");
  const request = continueUrl && { continueUrl, state: get("state"), codeChallenge: get("codeChallenge") };
  const email = get("email");
  kept = {};
  keep({
    language: get("lang"),
    app: get("lookup") || get("proof") ? mailedRequest(request) : request,
    // The page shows it: no other text of a link.
    email: email && isEmail(email) ? email : undefined,
    isReauthentication: get("mode") === "reauthenticate" || undefined,
    user: get("user"),
    allowed: get("methods")?.split(","),
    except: get("except") && { user: get("except"), email: get("exceptEmail") },
    lookup: get("lookup"),
    way: get("way"),
    signUp: get("signUp") && { handle: get("signUp"), secret: get("proof") },
  });
}

// A mail has no state and no challenge, so its link could lead back without a session. In the browser that asked for the
// mail, the app's request is stored meanwhile.
function storeRequest() {
  if (!kept.app || isOwn(kept.app.continueUrl)) return;
  try {
    localStorage.setItem(mailedKey, JSON.stringify({ app: kept.app, until: Date.now() + mailedTime }));
  } catch {
    // Without storage, the link leads back without a session.
  }
}

function mailedRequest(request) {
  try {
    const { app, until } = JSON.parse(localStorage.getItem(mailedKey)) ?? {};
    if (app && Date.now() < until && (!request || request.continueUrl === app.continueUrl)) return app;
  } catch {
    // The person has disabled storage.
  }
  return request;
}

function forgetRequest() {
  try {
    localStorage.removeItem(mailedKey);
  } catch {
    // Nothing is stored.
  }
}

// True for the pages of this service, whose mails lead to the sign-in page alone.
function isOwn(address) {
  try {
    return new URL(address, page).origin === location.origin;
  } catch {
    return false;
  }
}

// The first step of a visit.
function firstStep() {
  if (kept.signUp) return "arrivedSignUp";
  if (kept.lookup || (kept.way && kept.email)) return "arrived";
  if (!kept.isReauthentication || !(kept.email || kept.allowed)) return "start";
  if (!kept.allowed) return "ways";
  // Only names of methods, because the page shows them.
  const isKnown = (method) => isOffered(method) || Object.hasOwn(names, method) || `method.${method}` in strings.en;
  const methods = kept.allowed.filter(isKnown).map((method) => ({ method, works: true }));
  keep({ ways: { email: kept.email, methods, lastUsed: account(kept.email)?.method } });
  return "methods";
}

// The step at which the person chooses again. A confirmation offers the methods that it names.
function choice() {
  if (kept.isReauthentication) return firstStep();
  return kept.email ? "ways" : "start";
}

// Asks for the code of a sign-up that the page of conflicts passes on. The address is masked until the code is right.
async function openSignUp() {
  const { state, email, providerId } = await call("GET", "concord/v1/conflict", { bearer: kept.signUp.handle });
  if (state !== "open") throw new Problem("sign-up-unusable");
  storeRequest();
  keep({ email, signUp: { ...kept.signUp, providerId }, step: "confirmCode" });
}

// The answer of a provider's page or of a challenge, if this tab asked for one.
async function takeTrip() {
  const eventKey = `firebase:redirectEvent:${project.apiKey}:${appName}`;
  let trip = null;
  let event = null;
  try {
    trip = JSON.parse(sessionStorage.getItem(tripKey));
    event = JSON.parse(sessionStorage.getItem(eventKey));
  } catch {
    // The person has disabled storage: there is no answer.
  }
  const isAnswer = Boolean(trip && event) && trip.id === event.eventId;
  const isHere = isAnswer && (trip.kept || kept.trip?.id === trip.id);
  if (isAnswer && !isHere) await goBack(1 + (event.addedEntries ?? 0));
  try {
    sessionStorage.removeItem(tripKey);
    sessionStorage.removeItem(eventKey);
  } catch {
    // Nothing is stored.
  }
  if (!isHere) return null;
  if (trip.kept) keep(trip.kept);
  return event;
}

// Goes back to the history entry from which the challenge began: its state has what waits for the token.
async function goBack(entries) {
  history.go(-entries);
  // The page stays busy until it is gone.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
}

// Returns the address of the app's page, or of the page of the account.
async function findDestination() {
  if (destination) return;
  if (!kept.app) {
    await findAccountPage();
    destination = {};
    return;
  }
  const query = new URLSearchParams({ key: project.apiKey, concordDestination: kept.app.continueUrl });
  const { concordAuthorized } = await call("GET", `v1/projects?${query}`);
  destination = { isForeign: concordAuthorized !== true };
  if (destination.isForeign) await findAccountPage();
}

// Finds out if the service has an account page. It needs a challenge, which browsers compute on HTTPS pages and on this
// machine only.
async function findAccountPage() {
  try {
    const served = crypto.subtle && await fetch(new URL("account", document.baseURI), { credentials: "omit" });
    hasAccountPage = Boolean(served?.ok);
  } catch {
    hasAccountPage = false;
  }
}

// The app's page, for a mail that leads back to it. Mails lead to apps only.
async function mailedDestination() {
  if (!kept.app || isOwn(kept.app.continueUrl)) return undefined;
  await findDestination();
  if (destination.isForeign) return undefined;
  storeRequest();
  return kept.app.continueUrl;
}

// Actions

const actions = {
  async identify() {
    const email = valueOf("email-field").trim();
    requireEmail(email);
    keep({ email });
    await openWays(email);
  },

  async mail() {
    if (shown === "mailed") {
      await mailWays(kept.mailed);
      byId("code-field").value = "";
      status = "status.sent";
    } else await mailWays([kept.email]);
  },

  // The person does not know which address the account has.
  async mailBoth() {
    const other = valueOf("other-field").trim();
    requireEmail(other);
    if (other.toLowerCase() === kept.email.toLowerCase()) throw new Problem("invalid-email");
    await mailWays([kept.email, other]);
  },

  async prove() {
    await proveCode(readCode());
    // A person who confirms who they are has chosen the mail, and signs in with it.
    await choose(kept.isReauthentication ? "emailLink" : "methods");
  },

  async enter() {
    const password = readPassword();
    const body = { ...forSession(), email: kept.email, password, pendingToken: waitingConflict() };
    const answer = await compatible("accounts:signInWithPassword", body);
    await finish(answer, "password", { linked: answer.linkedProviderId });
  },

  // The press that the link of a mail waits for. It enters only the account that the step named: a stranger may have
  // sent the link of another one, which needs a second press below its address.
  async arrive(way) {
    const named = kept.email ?? "";
    try {
      if (kept.lookup) await prove({ linkSecret: kept.lookup });
    } catch (error) {
      // A provider's page needs no proof. The proof only gives it the address.
      if (!isProvider(way) || error.type !== "code-unusable") throw error;
    }
    const isNamed = named.toLowerCase() === kept.email?.toLowerCase();
    await choose(isNamed || !kept.ways ? way : "methods");
  },

  choose,

  async others() {
    keep({ only: undefined, lookup: undefined, way: undefined });
    keep({ step: choice() });
  },

  // Sends the person to the page of a provider.
  provider: openProvider,

  // Asks for the number. Only the first step may lead to a new account: elsewhere the person has one already.
  async phone() {
    if (shown !== "phoneCode") keep({ phone: { opens: shown !== "start" } });
    keep({ step: "phone" });
  },

  async sendCode() {
    const number = dialable(valueOf("phone-field"));
    if (!/[0-9]/.test(number)) throw new Problem("missing-number");
    keep({ phone: { ...kept.phone, number, sessionInfo: undefined } });
    if (!number.startsWith("+")) throw new Problem("country-missing");
    await sendText("phoneCode");
  },

  sendAgain: () => sendText("phoneCode"),

  async signInByNumber() {
    const { sessionInfo } = kept.phone;
    const code = readShortCode();
    const operation = createsByNumber() ? "SIGN_UP_OR_IN" : "REAUTH";
    const body = { ...forSession(), sessionInfo, code, operation, pendingToken: waitingConflict() };
    const answer = await compatible("accounts:signInWithPhoneNumber", body).catch((error) => {
      throw error.details?.message === "USER_NOT_FOUND" ? new Problem("unknown-number") : error;
    });
    // The account may have no address, or another one than the person has entered.
    const email = claims(answer.idToken).email ?? null;
    await finish(answer, "phone", { email, number: answer.phoneNumber, linked: answer.linkedProviderId });
  },

  async signIn() {
    const body = { ...forSession(), proofToken: kept.ways.proofToken, way: "signIn", pendingToken: waitingConflict() };
    const answer = await call("POST", "concord/v1/lookup:continue", { body });
    const linked = body.pendingToken && kept.linking.providerId;
    await finish(answer, "emailLink", { linked, suspended: answer.suspended });
  },

  async setPassword() {
    const newPassword = readPassword();
    const { oobCode, isUsed } = kept.code;
    if (!isUsed) {
      await compatible("accounts:resetPassword", { oobCode, newPassword });
      keep({ code: { ...kept.code, isUsed: true } });
    }
    const body = { ...forSession(), email: kept.email, password: newPassword, pendingToken: waitingConflict() };
    const answer = await compatible("accounts:signInWithPassword", body).catch((error) => {
      // The code is used, and the new password works.
      keep({ step: "ways", only: "password" });
      throw error;
    });
    await finish(answer, "password", { linked: answer.linkedProviderId, suspended: kept.code.suspended });
  },

  async register() {
    keep({ step: "register" });
  },

  async create() {
    const email = valueOf("email-field").trim();
    requireEmail(email);
    keep({ email });
    const isConfirmed = project.signUp.requires === "mailbox";
    // The mail leads to the choice of the password. Concord drops this one.
    const password = isConfirmed ? `Aa1!${randomText()}` : readPassword();
    try {
      const body = { ...forSession(), email, password };
      const send = (continueUrl) => compatible("accounts:signUp", { ...body, continueUrl });
      const answer = await (isConfirmed ? mailing(send) : send());
      await finish(answer, "password");
    } catch (error) {
      if (isConfirmed && error.type === "provider-disabled") {
        storeRequest();
        return keep({ step: "registered" });
      }
      if (error.type === "email-exists") keep({ step: "ways", only: undefined });
      throw error;
    }
  },

  async confirmSignUp() {
    const { handle, secret } = kept.signUp;
    const body = secret ? { linkSecret: secret } : { code: readCode() };
    const proven = await ofSignUp("prove", { bearer: handle, body });
    keep({ signUp: { ...kept.signUp, ...proven, secret: undefined }, email: proven.email, step: "signUp" });
  },

  async finishSignUp() {
    const { handle, proofToken, providerId } = kept.signUp;
    const bearer = { bearer: handle, key: onceKey() };
    if (variant() === "link") {
      const linkable = await ofSignUp("link", { ...bearer, body: { proofToken } });
      return openLink(linkable.pendingToken, linkable, kept.signUp.email);
    }
    const password = providerId ? undefined : readPassword();
    const answer = await ofSignUp("create", { ...bearer, body: { ...forSession(), proofToken, password } });
    await finish(answer, providerId ?? "password", { email: kept.signUp.email });
  },

  // Creates the account that the first sign-in with a provider asks about.
  async accept() {
    const { pendingToken, providerId } = kept.first;
    await takeIdentity(await signInWithIdentity({ pendingToken }), providerId);
  },

  // The person has another account: the identity waits until they have signed in to it.
  async other() {
    const { first, conflict } = kept;
    if (!first) {
      const linking = { kind: "conflict", token: conflict.handle, providerId: conflict.providerId };
      return clear({ linking, email: conflict.email, step: "start" });
    }
    const email = valueOf("email-field").trim();
    requireEmail(email);
    clear({ linking: { kind: "first", token: first.pendingToken, providerId: first.providerId }, email, step: "ways" });
    if (account(email)?.deviceToken) return openWays(email);
    await actions.mail();
  },

  async proveConflict() {
    const { handle } = kept.conflict;
    await call("POST", "concord/v1/conflict/proof", { bearer: handle, body: { kind: "mailbox" } });
    keep({ step: "conflictCode" });
    if (shown !== "conflictCode") return;
    byId("code-field").value = "";
    status = "status.sent";
  },

  async completeConflict() {
    const { handle, email } = kept.conflict;
    const body = { code: readCode() };
    openLink(handle, await call("POST", "concord/v1/conflict/proof:complete", { bearer: handle, body }), email);
  },

  async link() {
    const { handle, proofToken, providerId, email } = kept.conflict;
    const options = { bearer: handle, key: onceKey(), body: { ...forSession(), proofToken } };
    const answer = await call("POST", "concord/v1/conflict:resolve", options);
    // Another provider may wait for this sign-in.
    if (kept.linking?.token === handle) keep({ linking: undefined });
    await finish(answer, providerId, { email, linked: providerId, suspended: answer.suspended });
  },

  async chooseFactor(factor) {
    // A code that is on its way works until the next one is sent.
    const isAgain = factor.phoneInfo && factor.mfaEnrollmentId === kept.factor.factor?.mfaEnrollmentId;
    keep({ factor: { ...kept.factor, factor, sessionInfo: isAgain ? kept.factor.sessionInfo : undefined } });
    if (factor.phoneInfo) await sendText("factor");
    shown = null;
  },

  sendFactorAgain: () => actions.chooseFactor(kept.factor.factor),

  async finishFactor() {
    const { pending, factor, sessionInfo, method, more } = kept.factor;
    const code = readShortCode();
    const proof = sessionInfo
      ? { phoneVerificationInfo: { sessionInfo, code } }
      : { totpVerificationInfo: { verificationCode: code } };
    const body = { ...forSession(), mfaPendingCredential: pending, mfaEnrollmentId: factor.mfaEnrollmentId, ...proof };
    await finish(await compatible("accounts/mfaSignIn:finalize", body, "v2"), method, more);
  },

  leave,

  async forget() {
    forget();
    shown = null;
  },

  async forgetThis() {
    forget(kept.ended.email);
    shown = null;
    status = "status.forgotten";
  },

  async continueAs({ email, method }) {
    keep({ email });
    if (isOffered(method) && isProvider(method)) return openProvider(method);
    if (method === "password" && isOffered(method)) return keep({ step: "ways", only: "password" });
    if (method === "phone" && offersPhone()) return choose(method);
    await openWays(email);
  },

  async restart() {
    clear({ step: "start", email: undefined, isReauthentication: undefined, user: undefined, allowed: undefined });
  },

  // The provider that waits for the sign-in stays.
  async otherAddress() {
    const { linking } = kept;
    await actions.restart();
    keep({ linking });
  },

  retry: load,
};

// The members of a request that opens a session. The earlier token keeps the device's place in the list of devices. At a
// provider, the page may not know whose it is: the service ignores the token of another account.
function forSession() {
  const known = kept.email ? account(kept.email) : accounts()[0];
  return { returnSecureToken: true, returnDeviceToken: true, deviceToken: known?.deviceToken };
}

const compatible = (path, body, version = "v1") => call("POST", `${version}/${path}`, { body, apiKey: project.apiKey });

// The type of a problem with a sign-up names it: its handle cannot be asked for again.
async function ofSignUp(action, options) {
  try {
    return await call("POST", `concord/v1/signUp/pending:${action}`, options);
  } catch (error) {
    throw error.type === "code-unusable" ? new Problem("sign-up-unusable", error.details) : error;
  }
}

// The Idempotency-Key of this sign-in's last request: a repetition gets the same answer.
function onceKey() {
  if (!kept.key) keep({ key: randomText() });
  return kept.key;
}

const isEmail = (text) => /^[^@\s]+@[^@\s]+$/.test(text);

function requireEmail(email) {
  if (!isEmail(email)) throw new Problem("invalid-email");
  if (isExcepted(email)) throw new Problem("same-account");
}

// True for the address of the account that is signed in already, if the page wants another one.
const isExcepted = (email) => kept.except?.email?.toLowerCase() === email.toLowerCase();

// The remembered accounts that the page offers.
const offered = () => accounts().filter(({ email }) => !isExcepted(email));

function readPassword() {
  const password = valueOf("password-field");
  if (!password) throw new Problem("missing-password");
  return password;
}

function readCode() {
  const code = digits(valueOf("code-field"));
  if (code.length !== 8) throw new Problem("code-incomplete");
  return code;
}

// The code of a text or of an authenticator app.
function readShortCode() {
  const code = digits(valueOf("code-field"));
  if (code.length < 6) throw new Problem("code-incomplete");
  return code;
}

// With the token of this device, the methods of the account. Otherwise the same step for every address.
async function openWays(email) {
  const deviceToken = account(email)?.deviceToken;
  if (!deviceToken) return keep({ step: "ways", only: undefined });
  const known = await lookUp({ email, deviceToken });
  // The account no longer knows the device, so a mail is on its way.
  if (!known.methods) return keep({ mailed: [email], step: "mailed" });
  keep({ ways: { ...known, lastUsed: account(email).method }, step: "methods" });
}

// Mails each address how its account is entered. The next step takes the code of any of these mails.
async function mailWays(addresses) {
  keep({ mailed: addresses });
  for (const email of addresses) await lookUp({ email });
  keep({ step: "mailed", ways: undefined });
}

// A mail leads to a host that the project names, and to none below it (`linkPolicy.authorizesSubdomains`). Then the mail
// names no page, and the request stored in this browser leads back.
async function mailing(send) {
  // Without an answer about the destination, the mail names no page.
  const continueUrl = await mailedDestination().catch(() => undefined);
  try {
    return await send(continueUrl);
  } catch (error) {
    if (!continueUrl || !["refused", "unauthorized-domain"].includes(error.type)) throw error;
    return send();
  }
}

function lookUp(body) {
  return mailing((continueUrl) => call("POST", "concord/v1/lookup", { body: { ...body, continueUrl } }));
}

// The code is from the mail to one of the addresses.
async function proveCode(code) {
  const [first, ...rest] = kept.mailed;
  try {
    await prove({ email: first, code });
  } catch (error) {
    if (error.type !== "wrong-proof" || rest.length === 0) throw error;
    await prove({ email: rest[0], code });
  }
}

async function prove(answer) {
  const ways = await call("POST", "concord/v1/lookup:prove", { body: answer });
  keep({ ways, email: ways.email });
}

async function choose(way) {
  const { ways } = kept;
  if (isProvider(way)) return openProvider(way);
  if (way === "password") return keep({ step: "ways", only: "password" });
  if (way === "phone") return keep({ phone: { opens: true }, step: "phone" });
  if (way === "setPassword" && ways?.proofToken) {
    const body = { proofToken: ways.proofToken, way: "setPassword" };
    const { oobCode } = await call("POST", "concord/v1/lookup:continue", { body });
    const code = await compatible("accounts:resetPassword", { oobCode });
    return keep({ code: { oobCode, suspended: code.concord?.suspended }, email: code.email, step: "newPassword" });
  }
  if (!ways?.proofToken && (way === "emailLink" || !ways)) return actions.mail();
  if (way === "emailLink" && ways.signsIn && !ways.suspended?.length) return actions.signIn();
  keep({ step: "methods" });
}

// The names that are no providers: methods, and the ways of `choose`.
const others = new Set(["emailLink", "methods", "password", "phone", "setPassword", undefined]);
const isProvider = (method) => !others.has(method);
const isOffered = (method) => project.methods.some((offered) => offered.method === method);

// True if this page can ask for texts.
const sendsTexts = () => ["none", "required"].includes(project.textChallenge);
const offersPhone = () => isOffered("phone") && sendsTexts();

// Providers

// The providers that ask which of the person's accounts there to use. Others may refuse the wish.
const letChoose = new Set(["github.com", "google.com", "microsoft.com"]);

function openProvider(providerId) {
  const { app, email, isReauthentication, user, allowed, except, linking } = kept;
  const state = {
    app, email, isReauthentication, user, allowed, except, linking, language: kept.language, trip: { providerId },
  };
  const wishes = { login_hint: email, prompt: except && letChoose.has(providerId) ? "select_account" : undefined };
  const authType = isReauthentication ? "reauthViaRedirect" : "signInViaRedirect";
  const fields = { authType, providerId, customParameters: JSON.stringify(wishes) };
  return openHandler(fields, { id: randomText(), kept: state });
}

// Goes to the handler page in this tab. The session storage has `trip`, which this page needs on return.
function openHandler(fields, trip) {
  const { id } = trip;
  try {
    sessionStorage.setItem(tripKey, JSON.stringify(trip));
  } catch {
    throw new Problem("no-storage");
  }
  const parameters = new URLSearchParams({
    apiKey: project.apiKey, appName, eventId: id, hl: language, redirectUrl: page, ...fields,
  });
  location.assign(new URL(`__/auth/handler?${parameters}`, document.baseURI));
  // The page stays busy until it is gone.
  return new Promise((resolve) => setTimeout(resolve, 10_000));
}

async function finishTrip(event) {
  const { providerId, sender } = kept.trip;
  if (sender) return finishChallenge(event, sender);
  keep({ trip: undefined, step: firstStep() });
  if (event.error) {
    throw new Problem(event.error.code === "auth/operation-not-allowed" ? "provider-disabled" : "provider-failed");
  }
  const source = {
    requestUri: event.urlResponse,
    sessionId: event.sessionId ?? undefined,
    postBody: event.postBody ?? undefined,
    // Concord creates no account before the person has agreed.
    asksFirst: kept.isReauthentication ? undefined : true,
    autoCreate: kept.isReauthentication ? false : undefined,
  };
  await takeIdentity(await signInWithIdentity(source), providerId);
}

function signInWithIdentity(source) {
  const body = { requestUri: page, returnIdpCredential: true, ...forSession(), ...source };
  return mailing((continueUrl) => compatible("accounts:signInWithIdp", { ...body, continueUrl }));
}

async function takeIdentity(answer, providerId) {
  const { pendingToken, email, errorMessage, verifiedProvider } = answer;
  if (answer.asksFirst) {
    // The person has just said that they have another account, and this is not it.
    if (kept.linking) throw new Problem("no-account");
    return keep({ first: { pendingToken, email, providerId }, step: "first" });
  }
  if (answer.needConfirmation) {
    // Concord has mailed a mailbox that it says nothing about: a sign-up waits, not a conflict.
    if (!verifiedProvider) {
      storeRequest();
      return keep({ signUp: { handle: pendingToken, providerId }, first: undefined, email, step: "confirmCode" });
    }
    return keep({ conflict: { handle: pendingToken, providerId, email }, first: undefined, step: "conflict" });
  }
  if (errorMessage) throw new Problem(identityProblem(errorMessage));
  await finish(answer, providerId, { email: answer.originalEmail ?? email });
}

// The problem behind the code of a refusal that came with the provider's credential.
function identityProblem(message) {
  const [code] = message.split(" : ");
  const type = {
    ADMIN_ONLY_OPERATION: "admin-only-operation",
    OPERATION_NOT_ALLOWED: "provider-disabled",
    USER_DISABLED: "user-disabled",
    // A confirmation creates no account.
    USER_NOT_FOUND: "other-account",
  }[code];
  return type ?? "identity-in-use";
}

// Texts

// Each text needs its own token of a solved challenge. The handler page gets one, and leads back here.
function sendText(name) {
  if (project.textChallenge !== "required") return senders[name]("none");
  const id = randomText();
  keep({ trip: { id, sender: name } });
  return openHandler({ authType: "verifyApp" }, { id });
}

async function finishChallenge(event, name) {
  keep({ trip: undefined });
  if (!event.recaptchaToken) throw new Problem("challenge-failed");
  await senders[name](event.recaptchaToken);
}

// The requests for texts, by the step that takes the code.
const senders = {
  async phoneCode(recaptchaToken) {
    const { number, sessionInfo: earlier } = kept.phone;
    const { sessionInfo } = await compatible("accounts:sendVerificationCode", { phoneNumber: number, recaptchaToken });
    keep({ phone: { ...kept.phone, sessionInfo }, step: "phoneCode" });
    if (!earlier) return;
    status = "status.texted";
    shown = null;
  },

  async factor(recaptchaToken) {
    const { pending, factor, sessionInfo: earlier } = kept.factor;
    const { phoneResponseInfo } = await compatible("accounts/mfaSignIn:start", {
      mfaPendingCredential: pending,
      mfaEnrollmentId: factor.mfaEnrollmentId,
      phoneSignInInfo: { recaptchaToken },
    }, "v2");
    keep({ factor: { ...kept.factor, sessionInfo: phoneResponseInfo.sessionInfo } });
    if (earlier) status = "status.texted";
  },
};

// True if a number without an account gets one.
function createsByNumber() {
  return project.signUp.allowed && !kept.phone.opens && !kept.linking && !kept.isReauthentication;
}

// Linking

const waitingConflict = () => (kept.linking?.kind === "conflict" ? kept.linking.token : undefined);

// The step that names what linking suspends.
function openLink(handle, { conflict, proofToken }, email) {
  const { providerId, signInMethods, suspended, replaced } = conflict;
  const waits = { handle, proofToken, providerId, email, signInMethods, suspended, replaced };
  // The key of an earlier request is not that of this one.
  keep({ conflict: waits, key: undefined, step: "link" });
}

// Links the identity that waits to the account of the new session. Returns false if the person must agree first.
async function linkWaiting(ended) {
  const { linking } = kept;
  if (!linking || ended.linked === linking.providerId) return true;
  try {
    const idToken = await session.idToken();
    if (linking.kind === "conflict") {
      const body = { kind: "session", idToken };
      const proven = await call("POST", "concord/v1/conflict/proof", { bearer: linking.token, body });
      openLink(linking.token, proven, ended.email);
      return false;
    }
    const answer = await signInWithIdentity({ pendingToken: linking.token, idToken });
    if (answer.errorMessage || answer.needConfirmation) throw new Problem(identityProblem(answer.errorMessage ?? ""));
    session.adopt(answer);
    ended.linked = linking.providerId;
  } catch (error) {
    ended.unlinked = linking.providerId;
    problem = problemOf(error);
  }
  return true;
}

// The end

// Takes the answer to a sign-in. `more`: email (null for an account without one), number, linked (a provider), suspended
// (methods).
async function finish(answer, method, more = {}) {
  if (answer.mfaPendingCredential) {
    const factors = answer.mfaInfo ?? [];
    const factor = factors.find((one) => one.totpInfo) ?? factors[0];
    return keep({ factor: { pending: answer.mfaPendingCredential, factors, factor, method, more }, step: "factor" });
  }
  const email = more.email === null ? null : more.email ?? answer.email ?? kept.email;
  const opened = new Session(project.apiKey, answer);
  const isOther = email !== undefined && email?.toLowerCase() !== kept.email?.toLowerCase();
  const isOtherUser = kept.user && claims(await opened.idToken()).sub !== kept.user;
  if (kept.isReauthentication && (isOtherUser || (kept.email && isOther))) {
    await opened.end().catch(() => {});
    throw new Problem("other-account");
  }
  if (email) remember({ email, method, deviceToken: answer.deviceToken });
  if (kept.except && claims(await opened.idToken()).sub === kept.except.user) {
    await opened.end().catch(() => {});
    await actions.otherAddress();
    throw new Problem("same-account");
  }
  session = opened;
  const ended = { email, number: more.number, linked: more.linked, suspended: more.suspended };
  const isLinked = await linkWaiting(ended);
  if (!isLinked) return;
  clear({ ended, refreshToken: session.refreshToken, step: "done" });
  forgetRequest();
  await findDestination();
  if (!ended.linked && !ended.unlinked && !ended.suspended?.length && leavesAlone()) await leave();
}

// The app gets a code, or the account page opens. A button leads to an app that wants no code.
function leavesAlone() {
  if (!kept.app) return hasAccountPage;
  return !destination.isForeign && Boolean(kept.app.codeChallenge);
}

async function leave() {
  await findDestination();
  if (!kept.app || destination.isForeign) return leaveForAccount();
  const { continueUrl, state, codeChallenge } = kept.app;
  if (codeChallenge) return issueCode({ continueUrl, state, codeChallenge });
  const address = new URL(continueUrl);
  if (state) address.searchParams.set("state", state);
  location.replace(address);
}

async function leaveForAccount() {
  const [state, verifier] = [randomText(), randomText()];
  const codeChallenge = await challengeOf(verifier);
  try {
    sessionStorage.setItem(accountTripKey, JSON.stringify({ state, verifier }));
  } catch {
    throw new Problem("no-storage");
  }
  await issueCode({ continueUrl: new URL("account", document.baseURI).href, state, codeChallenge });
}

async function issueCode(fields) {
  const { refreshToken } = session ?? kept;
  if (!refreshToken) throw new Problem("invalid-session");
  const options = { body: { refreshToken, ...fields }, key: randomText() };
  try {
    const { url } = await call("POST", "concord/v1/signIn/return:issueCode", options);
    location.replace(url);
  } catch (error) {
    if (error.type !== "refused") throw error;
    // The project authorizes hosts above it, but not this one.
    destination = { isForeign: true };
    await findAccountPage();
    shown = null;
    return;
  }
  await new Promise((resolve) => setTimeout(resolve, 10_000));
}

// Running

async function act(name, argument) {
  if (isBusy) return;
  problem = wait = null;
  status = "status.busy";
  setBusy(true);
  say();
  status = null;
  try {
    reason = null;
    await actions[name](argument);
    await prepare(kept.step);
  } catch (error) {
    recover(error, name);
  }
  setBusy(false);
  show();
}

function setBusy(busy) {
  isBusy = busy;
  markBusy(busy);
}

function recover(error, name) {
  const type = typeOf(error);
  if (!project || stoppers.includes(type)) {
    reason = type;
    return;
  }
  // Without a valid proof, the methods that it showed are of no use.
  const needsMail = ["code-unusable", "proof-expired", "proof-stale"].includes(type);
  if (needsMail && ["methods", "newPassword", "arrived"].includes(kept.step)) {
    keep({ ways: undefined, lookup: undefined, way: undefined, only: undefined });
    keep({ step: choice() });
  }
  // The session ended elsewhere, before it reached the app.
  if (type === "invalid-session" && kept.step === "done") {
    session = null;
    clear({ step: "start" });
  }
  problem = problemOf(error, name);
}

function problemOf(error, name) {
  const type = typeOf(error);
  if (error.waitSeconds) wait = new Date(Date.now() + error.waitSeconds * 1000);
  const candidates = [`problem.${type}.${name}`, wait && `problem.${type}.at`, `problem.${type}`];
  return candidates.find((candidate) => candidate in strings.en) ?? "problem.refused";
}

// Reads what a step shows.
async function prepare(step) {
  if (["register", "signUp", "newPassword"].includes(step)) {
    policy ??= await call("GET", "v2/passwordPolicy", { apiKey: project.apiKey });
  }
  if (step === "done") await findDestination();
}

// Display

function step() {
  if (!reason) return kept.step ?? "start";
  // Without the project, the page shows nothing else, so the person can try again.
  return project ? "stopped" : "away";
}

function show() {
  const next = step();
  const isFirst = shown === null && document.activeElement === document.body;
  const isNew = next !== shown;
  shown = next;
  if (isNew) byId("step").replaceChildren(built(next));
  say();
  // Moves the focus to the change, for people who cannot see it.
  if (isNew && !isFirst) document.querySelector("h1").focus();
  const wrong = [fields[problem?.replace(/^problem\./, "").split(".")[0]]].flat().find(byId);
  for (const field of byId("step").querySelectorAll("input:not([hidden])")) {
    field.setAttribute("aria-invalid", field.id === wrong);
  }
  if (wrong) byId(wrong)?.focus();
  if (problem) byId("problem").scrollIntoView({ block: "nearest" });
}

function built(name) {
  const view = build(name, (part) => conditions[part](), act);
  for (const field of view.querySelectorAll("[data-value]")) field.value = kept[field.dataset.value] ?? "";
  const email = view.querySelector("#email-field");
  if (email) email.value = kept.email ?? "";
  const phone = view.querySelector("#phone-field");
  if (phone) phone.value = kept.phone?.number ?? "";
  if (name === "ways" && !conditions.password()) view.querySelector("form button").classList.add("primary");
  // A remembered account comes first.
  if (name === "start" && conditions.known()) view.querySelector("form .primary").classList.remove("primary");
  return view;
}

const works = (method) => kept.ways.methods.some((way) => way.method === method && way.works);
const proven = () => Boolean(kept.ways?.proofToken);
const factorsElse = () => kept.factor.factors.filter((factor) => {
  const isChosen = factor.mfaEnrollmentId === kept.factor.factor?.mfaEnrollmentId;
  const isShown = isChosen && (factor.totpInfo || kept.factor.sessionInfo);
  return !isShown && (factor.totpInfo || sendsTexts());
});

// The optional parts of a step, by the name of `data-if`.
const conditions = {
  account: () => (!kept.app || destination?.isForeign) && hasAccountPage && hasSession(),
  blocked: () => blocked().length > 0,
  bringing: () => ["create", "link"].includes(variant()),
  choosing: () => variant() === "password",
  confirmed: () => project.signUp.requires === "mailbox",
  confirming: () => Boolean(kept.isReauthentication),
  // Someone with another account does not need a new one.
  creating: () => {
    const isFree = !kept.linking && !kept.isReauthentication && !kept.only;
    return isFree && project.signUp.allowed && isOffered("password");
  },
  direct: () => project.signUp.requires !== "mailbox",
  excepting: () => Boolean(kept.except),
  final: () => !conditions.returning() && !conditions.account(),
  foreign: () => Boolean(destination?.isForeign),
  fresh: () => !kept.isReauthentication,
  known: () => offered().length > 0,
  lastUsed: () => Boolean(kept.ways.lastUsed),
  limited: () => Boolean(kept.isReauthentication && kept.allowed),
  linked: () => Boolean(kept.ended?.linked),
  named: () => Boolean(kept.ended ? kept.ended.email ?? kept.ended.number : kept.email),
  newByNumber: () => createsByNumber(),
  none: () => usable().length === 0,
  password: () => isOffered("password") || kept.only === "password",
  providers: () => (providers().length > 0 || offersPhone()) && !kept.only,
  remembered: () => Boolean(kept.ended?.email && account(kept.ended.email)),
  replacing: () => kept.conflict.replaced?.length > 0,
  returning: () => Boolean(kept.app) && !destination?.isForeign,
  sent: () => Boolean(kept.factor.sessionInfo),
  stopping: () => kept.conflict.suspended?.length > 0,
  suspended: () => kept.ended?.suspended?.length > 0,
  suspending: () => suspending().length > 0,
  taken: () => variant() === "taken",
  totp: () => Boolean(kept.factor.factor?.totpInfo),
  typing: () => conditions.totp() || conditions.sent(),
  unlinked: () => Boolean(kept.ended?.unlinked),
  unproven: () => !proven() && !kept.isReauthentication && !works("emailLink"),
  unsent: () => !conditions.typing() && factorsElse().length > 0,
  unusable: () => !conditions.typing() && factorsElse().length === 0,
  waiting: () => Boolean(kept.linking),
};

const hasSession = () => Boolean(session ?? kept.refreshToken);

// The end of a sign-up whose mailbox is proven.
function variant() {
  const { accountExists, providerId } = kept.signUp;
  if (accountExists) return providerId ? "link" : "taken";
  return providerId ? "create" : "password";
}

// The methods that the next press suspends.
const suspending = () => (kept.step === "newPassword" ? kept.code?.suspended : kept.ways?.suspended) ?? [];

// The providers to sign in with. The one that waits for the sign-in has no account here.
function providers() {
  const methods = project.methods.map(({ method }) => method);
  return methods.filter((method) => isProvider(method) && method !== kept.linking?.providerId);
}

// The methods of the account that work here, the one used last first: the label and the press of each button.
function usable() {
  const { methods, lastUsed, offersPassword, signsIn } = kept.ways;
  const ordered = [...methods].sort((one, other) => (other.method === lastUsed) - (one.method === lastUsed));
  const buttons = ordered.filter(({ works }) => works).flatMap(({ method }) => {
    if (method === "phone") return offersPhone() ? [["phone", "choose", method]] : [];
    if (method === "password") return kept.email && isOffered(method) ? [["methods.password", "choose", method]] : [];
    if (method === "emailLink") return proven() || !kept.email ? [] : [["methods.mail", "choose", method]];
    return isProvider(method) && isOffered(method) ? [["provider", "choose", method]] : [];
  });
  if (!proven()) return buttons;
  const mailed = lastUsed === "emailLink" || buttons.length === 0 ? 0 : 1;
  if (signsIn) buttons.splice(mailed, 0, ["methods.signIn", "signIn"]);
  if (kept.isReauthentication) return buttons;
  if (offersPassword) buttons.push(["methods.setPassword", "choose", "setPassword"]);
  if (works("password")) buttons.push(["methods.newPassword", "choose", "setPassword"]);
  return buttons;
}

// The methods of the account that do not work on this page, and the reason of each.
function blocked() {
  return kept.ways.methods.flatMap(({ method, works, obstacle, restorableUntil }) => {
    if (works) return isElsewhere(method) ? [[method, "blocked.app"]] : [];
    if (restorableUntil) return [[method, "blocked.suspended", restorableUntil]];
    return [[method, obstacle === "not-enabled" ? "blocked.not-enabled" : "blocked.other"]];
  });
}

const isElsewhere = (method) => (method === "phone" ? !offersPhone() : isProvider(method) && !isOffered(method));

// The buttons for the link of a mail: the named method first.
function arrival() {
  const way = kept.way === "setPassword" || isProvider(kept.way) || kept.way === "password" ? kept.way : "emailLink";
  const label = { emailLink: "signIn", password: "methods.password", setPassword: "methods.setPassword" };
  const first = [label[way] ?? "provider", "arrive", way];
  if (isProvider(way) && !isOffered(way)) return [["arrived.other", "arrive", "methods"]];
  return kept.lookup ? [first, ["arrived.other", "arrive", "methods"]] : [first, ["arrived.other", "others"]];
}

// The lists of a step, by the name of `data-list`.
const lists = {
  accounts: () => offered().map((known, index) => {
    const label = text("account", { email: masked(known.email) });
    const detail = known.method && text("account.method", { provider: nameOf(known.method) });
    return button(label, detail, index === 0, "continueAs", known);
  }),
  arrival: () => buttons(arrival()),
  blocked: () => blocked().map(([method, name, until]) => {
    const reason = document.createElement("p");
    reason.className = "hint";
    reason.textContent = text(name, { until });
    return item(nameOf(method), reason);
  }),
  factors: () => factorsElse().map((factor, index) => {
    const isFirst = index === 0 && !conditions.typing();
    const name = factor.totpInfo ? text("factor.useTotp") : text("factor.send", { number: factor.phoneInfo });
    return button(name, factor.displayName, isFirst, "chooseFactor", factor);
  }),
  linking: () => [...new Set([...(kept.conflict.signInMethods ?? []), kept.conflict.providerId])].map((method) => {
    const isOff = kept.conflict.suspended?.some((one) => one.method === method);
    const isNew = !kept.conflict.signInMethods?.includes(method);
    if (isOff) return item(struck(method), labelled("link.off", "off"));
    return item(nameOf(method), ...(isNew ? [labelled("link.new", "")] : []));
  }),
  methods: () => buttons(usable()),
  providers: () => [
    ...(offersPhone() ? [button(text("phone"), null, false, "phone")] : []),
    ...providers().map((method) => {
      return button(text("provider", { provider: nameOf(method) }), null, false, "provider", method);
    }),
  ],
  suspended: () => kept.ended.suspended.map(({ method }) => item(struck(method))),
  suspending: () => suspending().map(({ method }) => item(nameOf(method), labelled("link.off", "off"))),
};

const buttons = (list) => list.map(([name, action, argument], index) => {
  return button(text(name, { provider: nameOf(argument) }), null, index === 0, action, argument);
});

function button(label, detail, isPrimary, action, argument) {
  const made = document.createElement("button");
  made.type = "button";
  if (isPrimary) made.className = "primary";
  made.append(label);
  if (detail) {
    const small = document.createElement("small");
    small.textContent = detail;
    made.append(" ", small);
  }
  made.addEventListener("click", () => act(action, argument));
  made.setAttribute("aria-disabled", isBusy);
  return made;
}

function item(name, ...more) {
  const made = document.createElement("li");
  made.append(name, ...more.flatMap((part) => [" ", part]));
  return made;
}

function struck(method) {
  const made = document.createElement("s");
  made.textContent = nameOf(method);
  return made;
}

function labelled(name, style) {
  const made = document.createElement("span");
  made.className = style;
  made.textContent = text(name);
  return made;
}

// The first letter and the host: enough to recognize one's own address. Two accounts that look alike show all.
function masked(email) {
  const short = (address) => `${[...address][0]}…@${address.split("@").at(-1)}`;
  const isUnique = accounts().filter((known) => short(known.email) === short(email)).length === 1;
  return isUnique ? short(email) : email;
}

// Shows everything in the chosen language. The lists stay while the page is busy, so that no button loses the focus.
function say() {
  if (!isBusy) {
    for (const place of byId("step").querySelectorAll("[data-list]")) {
      place.replaceChildren(...lists[place.dataset.list]());
    }
  }
  fill(language, text, problem, status);
}

// The string `name` with its placeholders filled. The name itself may have placeholders, or be only a placeholder.
function text(name, values = {}) {
  const places = {
    app: () => app ?? strings[language].app,
    email: () => values.email ?? kept.ended?.email ?? kept.ended?.number ?? kept.email ?? "",
    number: () => values.number ?? kept.phone?.number ?? "",
    mailed: () => kept.mailed.join(` ${strings[language].and} `),
    method: () => nameOf(kept.ways.lastUsed),
    provider: () => values.provider ?? nameOf(currentProvider()),
    reason: () => (`problem.${reason}` in strings.en ? reason : "internal-error"),
    rules: () => rules(policy, strings[language], language),
    signUp: variant,
    unlinked: () => nameOf(kept.ended.unlinked),
    until: () => new Intl.DateTimeFormat(language, { dateStyle: "long" }).format(new Date(values.until)),
    wait: () => new Intl.DateTimeFormat(language, { timeStyle: "short" }).format(wait),
  };
  const valueOf = (place) => (place in places ? places[place]() : values[place] ?? "");
  const filled = (pattern) => pattern.replace(/\{(\w+)\}/g, (_, place) => valueOf(place));
  return name.startsWith("{") ? filled(name) : filled(spaced(strings[language][filled(name)], language));
}

function currentProvider() {
  return kept.ended?.linked ?? kept.ended?.unlinked ?? kept.conflict?.providerId ?? kept.first?.providerId
    ?? kept.signUp?.providerId ?? kept.linking?.providerId ?? kept.trip?.providerId;
}

// The display name of a sign-in method. Providers that a project has registered itself have their own.
function nameOf(method) {
  if (!method) return "";
  const registered = project?.methods.find((offered) => offered.method === method)?.displayName;
  return strings[language][`method.${method}`] ?? registered ?? names[method] ?? method.replace(/^(oidc|saml)\./, "");
}

// Start

// Reads the project, and finishes the visit of a provider's page.
async function load() {
  project ??= await call("GET", "concord/v1/signIn");
  project.apiKey ??= "any";
  const event = await takeTrip();
  speakIn();
  if (event) return finishTrip(event);
  if (kept.step) return;
  if (kept.signUp && !kept.signUp.secret) return openSignUp();
  keep({ step: firstStep() });
}

function speakIn() {
  language = preferredLanguage([kept.language, ...navigator.languages], Object.keys(languages));
  speak(language);
}

async function begin() {
  takeFragment();
  session = destination = shown = reason = null;
  speakIn();
  await act("retry");
}

byId("host").textContent = location.host;
offerLanguages(byId("languages"), languages, (tag) => {
  keep({ language: tag });
  speakIn();
  if (shown) say();
});
// The person opened another link in this tab, or went back to an earlier one. An action that still runs belongs to the
// earlier visit: a new page drops its answer.
function revisit() {
  if (!isBusy) return begin();
  isOver = true;
  location.reload();
}

addEventListener("hashchange", () => {
  if (location.hash) revisit();
});
addEventListener("popstate", ({ state }) => {
  if (!state) return;
  // An action that still runs goes on with the visit that it belongs to.
  if (!isBusy) kept = state;
  revisit();
});
// A page that the browser stored while it left for a provider is no longer busy.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});
await begin();

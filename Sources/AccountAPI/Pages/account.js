// The page on which people manage their account. It is an app of the sign-in page: it gets its session by a one-time
// code (account-tabs.js), and calls the routes that any app can call.
//
// The tokens of the session stay in variables. The refresh token is also in the state of this tab's history entry. A
// reload restores it, and no history list, other tab or server sees it (ADR 0022).
//
// Opening the page changes nothing. Each change is a press, with the version that the person has seen (`If-Match`), and
// with an Idempotency-Key. If the account changed meanwhile, the page shows the new state and reports it.

import { build, dialable, digits, fill, markBusy, offerLanguages, preferredLanguage } from "./common.js";
import { Merge } from "./account-merge.js";
import * as sections from "./account-sections.js";
import {
  arrival, dropErrand, exchange, leave, onAnswer, open, pass, prepareChallenge, prepareProvider, prepareSignIn,
} from "./account-tabs.js";
import { Texts } from "./account-texts.js";
import { call, claims, forget, Problem, randomText, remember, Session, speak, typeOf } from "./service.js";

const { languages, names, strings } = await (await fetch(new URL("account.json", import.meta.url))).json();

// Seconds that a sign-in must still count as recent before the person leaves for another page.
const recencyMargin = 120;
// The steps and sections that a link to this page can name behind the `#`.
const entrances = ["history", "methods", "notMe", "sessions"];

let kept = history.state ?? {};
const texts = new Texts(
  names,
  strings,
  kept.language ?? preferredLanguage(navigator.languages, Object.keys(languages)),
);
// The project: its API key, and the methods that people can sign in with. Null before it is read.
let project = null;
let passwordPolicy = null;
let reauthentication = [];
let session = null;
// The account, as the compatible API shows it.
let user = null;
// The merge that the person prepares.
let merge = null;
// The prepared tab of the step on the screen.
let errand = null;
// The step on the screen, and its values.
let view = { name: null, data: {} };
// The reason for this visit and the section that its link named, until the account is on the screen.
let arrived = null;
// The names of the strings for the problem and the status.
let problem = null;
let status = null;
// The text below a step while another tab is open.
let waiting = null;
let isBusy = false;
// The selector of what gets the focus next: a changed section, or the first new item of a list.
let focused = null;

const byId = (id) => document.getElementById(id);

function keep(changes) {
  kept = { ...kept, ...changes };
  history.replaceState(kept, "", location.pathname);
}

function keepSession(next) {
  session = next;
  keep({ refreshToken: session?.refreshToken });
}

const own = (path) => `concord/v1/${path}`;

// Returns true if the sign-in is too old for `operation`, or will be soon. Guests have no way to sign in again.
async function isOld(operation) {
  const limit = reauthentication.find((one) => one.operation === operation)?.maxAge;
  const { auth_time: time, firebase } = claims(await session.idToken());
  if (limit === undefined || firebase?.sign_in_provider === "anonymous") return false;
  return Date.now() / 1000 - time > limit - Math.min(recencyMargin, limit / 2);
}

// The account of a session.
async function accountOf(side) {
  const body = { idToken: await side.idToken() };
  const { users } = await call("POST", "v1/accounts:lookup", { apiKey: project.apiKey, body });
  return users[0];
}

// The content of the sections

const content = sections.empty();

const loaders = {
  async methods() {
    const [methods, quarantine] = await Promise.all([
      session.answer("GET", own("account/methods")),
      session.call("GET", own("account/quarantine")),
    ]);
    const asked = session;
    const account = await accountOf(asked);
    if (asked === session) user = account;
    return { methods: methods.content.methods, suspended: quarantine.methods, version: methods.version };
  },

  async sessions() {
    const { content, version } = await session.answer("GET", own("account/sessions"));
    return { ...content, version };
  },

  history: () => session.call("GET", own("account/events?pageSize=10")),

  merges: () => session.call("GET", own("account/merges")),
};

// The number of reads of each section. The answer to an earlier one is ignored.
const reads = {};

// Reads one section. Its failure leaves the others alone.
async function load(name) {
  const asked = session;
  const read = reads[name] = (reads[name] ?? 0) + 1;
  const isOver = () => asked !== session || read !== reads[name];
  content[name].isLoading = true;
  showSection(name);
  try {
    const found = await loaders[name]();
    if (isOver()) return;
    content[name] = { found, problem: null, isLoading: false };
  } catch (error) {
    if (isOver()) return;
    if (typeOf(error) === "invalid-session") return end("session");
    content[name] = { ...content[name], problem: typeOf(error), isLoading: false };
  }
  showSection(name);
}

const loadAll = () => Promise.all(Object.keys(loaders).map(load));

// Adds the next page of a list.
async function more(name, list, path) {
  const { found } = content[name];
  const next = await session.call("GET", own(`${path}pageToken=${encodeURIComponent(found.nextPageToken)}`));
  focused = `[data-section=${name}] li:nth-child(${found[list].length + 1})`;
  found[list] = [...found[list], ...next[list]];
  found.nextPageToken = next.nextPageToken;
}

const methodsFound = () => content.methods.found?.methods ?? [];
const working = () => methodsFound().filter(({ works }) => works).map(({ method }) => method);

// The methods that work without the one that the step is about.
const others = () => working().filter((method) => method !== view.data.method);

// The methods by which the person can sign in again, if the service has not named them.
function ways() {
  const mails = user?.emailVerified && project.methods.some(({ method }) => method === "emailLink");
  return [...new Set([...working(), ...(mails ? ["emailLink"] : [])])];
}

// Steps

function go(name, data = {}) {
  view = { name, data };
}

// Ends the use of the account on this page.
function end(reason, canReturn = true) {
  const email = user?.email;
  dropMerge();
  dropErrand();
  keepSession(null);
  user = null;
  Object.assign(content, sections.empty());
  go("ended", { reason, canReturn, email });
  show();
}

const actions = {
  signIn: () => leave({ lang: texts.language }, {}),

  async back() {
    await dropMerge();
    dropErrand();
    go("overview");
    loadAll();
  },

  // Methods

  async remove() {
    const { method } = view.data;
    await session.call("DELETE", own(`account/methods/${method}`), {
      key: randomText(), version: content.methods.found.version,
    });
    await finish("methods", "status.removed", { method });
  },

  connect() {
    open(errand);
    waiting = "connect.waiting";
  },

  async setPassword() {
    const field = byId("password-field");
    if (!field.value) throw new Problem("weak-password");
    const body = { idToken: await session.idToken(), password: field.value, returnSecureToken: true };
    const changed = await call("POST", "v1/accounts:update", { apiKey: project.apiKey, body });
    session.adopt(changed);
    keepSession(session);
    await rememberDevice();
    await finish("methods", "status.password");
  },

  async sendCode() {
    const number = dialable(byId("phone-field").value);
    if (!/[0-9]/.test(number)) throw new Problem("missing-number");
    if (!number.startsWith("+")) throw new Problem("country-missing");
    view.data.number = number;
    await requestCode();
  },

  sendAgain: () => requestCode(),

  async savePhone() {
    const code = digits(byId("code-field").value);
    if (code.length < 6) throw new Problem("code-incomplete");
    const { kind, sessionInfo } = view.data;
    const operation = kind === "change" ? "UPDATE" : "LINK";
    const idToken = await session.idToken();
    const body = { idToken, sessionInfo, code, operation };
    const path = "v1/accounts:signInWithPhoneNumber";
    const saved = await call("POST", path, { apiKey: project.apiKey, body }).catch((error) => {
      throw codeProblems[error.type] ? new Problem(codeProblems[error.type]) : error;
    });
    if (saved.temporaryProof) throw new Problem("number-in-use");
    session.adopt(saved);
    keepSession(session);
    // The answer has another session, and the list of devices must not show this one twice.
    const { concord } = claims(idToken);
    await session.call("DELETE", own(`account/sessions/${concord.session}`), { key: randomText() }).catch(() => {});
    await finish("methods", "status.connected", { method: "phone" });
  },

  async restore() {
    const body = { password: byId("password-field").value };
    if (!body.password) throw new Problem("wrong-proof");
    await session.call("POST", own("account/quarantine/password:restore"), {
      body, key: randomText(), version: content.methods.found.version,
    });
    await finish("methods", "status.restored", { method: "password" });
  },

  async discard() {
    const { method } = view.data;
    await session.call("DELETE", own(`account/quarantine/${method}`), {
      key: randomText(), version: content.methods.found.version,
    });
    await finish("methods", "status.discarded", { method });
  },

  async signInAgain() {
    const { methods, waits } = view.data;
    const fields = { mode: "reauthenticate", user: user.localId, methods: methods.join(","), lang: texts.language };
    if (user.email) fields.email = user.email;
    const { concord } = claims(await session.idToken());
    return leave(fields, { waits, user: user.localId, replaces: concord?.session });
  },

  // Another account

  async openOther() {
    if (await isOld("merge-accounts")) throw new Problem("insufficient-user-authentication");
    const except = { except: user.localId, ...(user.email && { exceptEmail: user.email }) };
    errand = await prepareSignIn("other", { lang: texts.language, ...except });
    go("other");
  },

  signInToOther() {
    open(errand);
    waiting = "other.waiting";
  },

  async swap() {
    merge.swap();
    try {
      await preview();
    } catch (error) {
      // The preview on the screen is that of the earlier order.
      merge.swap();
      throw error;
    }
  },

  async merge() {
    if (merge.isOpen) throw new Problem("choices-needed");
    const asked = () => {
      waiting = "merge.waiting";
      say();
    };
    const ended = await merge.commit(asked).finally(() => (waiting = null));
    await settle(ended);
  },

  // A sign-in to one of the two accounts has become too old.
  refreshSide() {
    open(errand);
    waiting = "other.waiting";
  },

  async undo() {
    const { merge, version } = view.data;
    await session.call("POST", own(`account/merges/${merge}:undo`), { version, body: {} });
    end("undone");
  },

  // This was not me

  openNotMe: () => go("notMe"),

  // Without versions: whatever else changes, these devices must lose the account.
  async secure() {
    const { devices, sessions: list } = await session.call("GET", own("account/sessions"));
    await session.call("DELETE", own("account/sessions?keepCurrent=true"), { key: randomText() });
    for (const { deviceId } of devices) {
      await session.call("DELETE", own(`account/devices/${deviceId}`), { key: randomText() });
    }
    await loadAll();
    go("secured", { sessions: list.filter(({ current }) => !current).length, devices: devices.length });
  },

  // Data

  async download() {
    const data = await session.call("GET", own("account/export"));
    const file = new Blob([JSON.stringify(data, null, 2)], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = `account-${data.exportTime.slice(0, 10)}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    go("overview", { noted: "data" });
    status = "status.downloaded";
    focused = headingOf("data");
  },

  openDelete: () => go("delete", { confirmation: user.email ?? user.phoneNumber ?? user.localId }),

  async delete() {
    const typed = byId("confirm-field").value.trim().toLowerCase();
    if (typed !== view.data.confirmation.toLowerCase()) throw new Problem("wrong-confirmation");
    const body = { idToken: await session.idToken() };
    await call("POST", "v1/accounts:delete", { apiKey: project.apiKey, body });
    if (user.email) forget(user.email);
    end("deleted", false);
  },

  async signOut() {
    await session.end();
    end("left");
  },

  retry: begin,
};

// The problems of a code that was sent to a number.
const codeProblems = {
  "code-unusable": "code-used",
  "too-many-attempts": "too-many-codes",
  "wrong-proof": "wrong-code",
};

// Asks for a text to the number of the step. Where the service wants a solved challenge, another tab gets its token.
async function requestCode() {
  if (project.textChallenge !== "required") return sendCode("none");
  errand = prepareChallenge(user.localId, project.apiKey, texts.language);
  open(errand);
  waiting = "connect.waiting";
}

async function sendCode(recaptchaToken) {
  const { kind, number, sessionInfo: earlier } = view.data;
  const body = { phoneNumber: number, recaptchaToken };
  const { sessionInfo } = await call("POST", "v1/accounts:sendVerificationCode", { apiKey: project.apiKey, body });
  go("phoneCode", { kind, number, sessionInfo });
  if (earlier) status = "status.texted";
}

// Actions of buttons in the sections, with what they are about.
const itemActions = {
  openRemove: (method) => go("remove", { method }),

  async openConnect(method) {
    if (await isOld("link-provider")) throw new Problem("insufficient-user-authentication");
    errand = prepareProvider(method, user.localId, project.apiKey, texts.language);
    go("connect", { method });
  },

  async openPhone(kind) {
    if (await isOld("change-phone-number")) throw new Problem("insufficient-user-authentication");
    go("phone", { kind });
  },

  openPassword: (kind) => go("password", { kind }),
  openRestore: (suspended) => go("restore", suspended),
  openDiscard: (method) => go("discard", { method }),

  async endSession(id) {
    await session.call("DELETE", own(`account/sessions/${id}`), {
      key: randomText(), version: content.sessions.found.version,
    });
    await finish("sessions", "status.ended");
  },

  async endOthers() {
    await session.call("DELETE", own("account/sessions?keepCurrent=true"), {
      key: randomText(), version: content.sessions.found.version,
    });
    await finish("sessions", "status.endedOthers");
  },

  async forgetDevice(id) {
    await session.call("DELETE", own(`account/devices/${id}`), {
      key: randomText(), version: content.sessions.found.version,
    });
    await finish("sessions", "status.forgotten");
  },

  async openUndo(merge) {
    const { version } = await session.answer("GET", own(`merges/${merge}`));
    go("undo", { merge, version });
  },

  moreHistory: () => more("history", "events", "account/events?pageSize=10&"),
  moreSessions: () => more("sessions", "sessions", "account/sessions?"),

  async reload(name) {
    await load(name);
    focused = headingOf(name);
  },
};

const headingOf = (section) => `[data-section=${section}] h2`;

// Reads everything again after a change, and shows the section that it was in.
async function finish(section, report, data = {}) {
  go("overview", { ...data, noted: section });
  status = report;
  focused = headingOf(section);
  await loadAll();
}

// Has the account know this device again, because a new password makes it forget all. Without a token the device only
// gets a mail where it got an answer at once.
async function rememberDevice() {
  const renewed = await session.renew({ returnDeviceToken: true }).catch(() => null);
  if (renewed?.device_token && user.email) remember({ email: user.email, deviceToken: renewed.device_token });
}

// Merges

// Gives up a merge that has not begun, with the session of the other account.
async function dropMerge() {
  const dropped = merge;
  merge = null;
  if (dropped) await dropped.session.end().catch(() => {});
}

async function preview() {
  await merge.readPreview();
  go("merge");
}

// Chooses the value of one account for a field, and shows what follows. The choices themselves stay on the screen,
// because one of them has the focus.
async function choose(field, side) {
  const of = merge;
  problem = null;
  byId("problem").textContent = "";
  try {
    if (!await of.choose(field, side) || of !== merge) return;
  } catch (error) {
    // "Merge" asks again, and reports it.
    console.warn(`preview: ${typeOf(error)}`);
    return;
  }
  byId("step").querySelector("[data-outcome]")?.replaceChildren(...sections.mergeOutcome(merge, parts));
}

// Shows how the merge ended, or that the app has not answered.
async function settle({ state, abortReason, undoUntil }) {
  if (state === "aborted") throw new Problem(`aborted-${abortReason}`);
  const [survivor, absorbed] = [merge.survivor, merge.absorbed].map(({ user: account }) => texts.accountName(account));
  if (merge.keepsOther) {
    const { session: side, user: account } = merge;
    keepSession(side);
    user = account;
  }
  merge = null;
  try {
    await session.renew();
  } catch (error) {
    // A password or second step that came over ends every session.
    if (typeOf(error) === "invalid-session") return end("merged");
  }
  go(state === "prepared" ? "asked" : "merged", { absorbed, survivor, until: undoUntil });
  loadAll();
}

// The answers of other tabs

const answers = {
  async other({ code, verifier }) {
    const side = new Session(project.apiKey, await exchange(code, verifier));
    const account = await accountOf(side);
    if (account.localId === user.localId) {
      await side.end().catch(() => {});
      throw new Problem("same-account");
    }
    await dropMerge();
    merge = new Merge(() => ({ session, user }), side, account);
    try {
      await preview();
    } catch (error) {
      if (typeOf(error) !== "insufficient-user-authentication") await dropMerge();
      throw error;
    }
  },

  // A newer sign-in to one of the two accounts of a merge. It replaces the session of that account.
  async recent({ code, verifier }) {
    const side = new Session(project.apiKey, await exchange(code, verifier));
    const account = await accountOf(side);
    const isOwn = account.localId === user.localId;
    if (!isOwn && account.localId !== merge.user.localId) {
      await side.end().catch(() => {});
      throw new Problem("not-of-merge");
    }
    const old = isOwn ? session : merge.session;
    if (isOwn) keepSession(side);
    else merge.session = side;
    await old.end().catch(() => {});
    await preview();
  },

  async text({ user: opener, event }) {
    if (opener !== user.localId) throw new Problem("errand-of-other");
    if (!event.recaptchaToken) throw new Problem("challenge-failed");
    if (view.data.number) await sendCode(event.recaptchaToken);
  },

  async link({ method, user: opener, event }) {
    if (opener !== user.localId) throw new Problem("errand-of-other");
    if (event.error) throw new Problem("provider-failed");
    const body = {
      idToken: await session.idToken(),
      requestUri: event.urlResponse,
      postBody: event.postBody ?? undefined,
      sessionId: event.sessionId,
      returnSecureToken: true,
    };
    const linked = await call("POST", "v1/accounts:signInWithIdp", { apiKey: project.apiKey, body }).catch((error) => {
      // The person pressed "Cancel" there, or the provider failed.
      throw ["invalid-idp-response", "user-cancelled"].includes(typeOf(error)) ? new Problem("provider-failed") : error;
    });
    session.adopt(linked);
    keepSession(session);
    await finish("methods", "status.connected", { method });
  },
};

onAnswer(async (answer) => {
  await ready;
  while (isBusy) await new Promise((resolve) => setTimeout(resolve, 50));
  if (session) await run(() => answers[answer.purpose](answer));
});

// Running an action

function act(name) {
  // The overview has a button for the step "other". All other changes have their button in their own step.
  const waits = name === "openOther" ? { name: "other" } : { name: view.name, data: view.data };
  return run(() => actions[name](), waits);
}

function actOn(name, argument) {
  const waits = {
    openConnect: { name: "connect", data: { method: argument } },
    openPhone: { name: "phone", data: { kind: argument } },
  }[name];
  return run(() => itemActions[name](argument), waits);
}

// `waits`: the step that is offered again after a newer sign-in.
async function run(action, waits = null) {
  if (isBusy) return;
  problem = null;
  waiting = null;
  status = "status.busy";
  setBusy(true);
  say();
  status = null;
  try {
    await action();
  } catch (error) {
    // A recovery calls the service, so it can fail too.
    await recover(error, waits).catch((another) => recover(another)).catch((last) => {
      problem = problemOf(typeOf(last), last);
    });
  }
  setBusy(false);
  show();
}

function setBusy(busy) {
  isBusy = busy;
  markBusy(busy);
}

async function recover(error, waits) {
  const type = typeOf(error);
  problem = problemOf(type, error);
  if (type === "invalid-session" && merge) {
    // The session of either account has ended. If it is this page's own, a section reports that.
    await dropMerge();
    dropErrand();
    go("overview");
    await loadAll();
    problem = session ? "problem.side-ended" : null;
  } else if (type === "invalid-session") {
    problem = null;
    if (session) end("session");
  } else if (type === "insufficient-user-authentication") {
    await offerSignIn(error, waits);
  } else if (type === "number-in-use") {
    // The code is used.
    go("phone", { kind: view.data.kind });
  } else if (type === "precondition-failed" || type === "last-sign-in-method") {
    go("overview");
    focused = headingOf("methods");
    await loadAll();
  }
}

// The string for a problem.
function problemOf(type, error) {
  const special = type === "merge-refused" ? `problem.merge-refused.${error.details?.reason}` : `problem.${type}`;
  if (texts.has(special)) return special;
  return texts.has(`problem.${type}`) ? `problem.${type}` : "problem.refused";
}

// Asks for a newer sign-in, by a method that the person has.
async function offerSignIn(error, waits) {
  problem = null;
  if (merge) {
    const [mine, theirs] = await Promise.all([session, merge.session].map((side) => side.idToken()));
    const account = claims(mine).auth_time <= claims(theirs).auth_time ? user : merge.user;
    errand = await prepareSignIn("recent", {
      lang: texts.language,
      mode: "reauthenticate",
      user: account.localId,
      ...(error.details?.methods && { methods: error.details.methods.join(",") }),
      ...(account.email && { email: account.email }),
    });
    return go("recent", { account: texts.accountName(account) });
  }
  const methods = (error.details?.methods ?? ways()).filter((method) => method !== "custom");
  go("again", { methods, waits: onlyNames(waits) });
}

// The part of a waiting step that the session storage may hold: names only.
function onlyNames(waits) {
  if (!waits) return null;
  const { method, kind, merge, expireTime } = waits.data ?? {};
  return { name: waits.name, data: { method, kind, merge, expireTime } };
}

// Offers the change again that waited for a newer sign-in.
async function resume({ name, data }) {
  status = "status.signedIn";
  if (name === "connect") return itemActions.openConnect(data.method);
  if (["phone", "phoneCode"].includes(name)) return itemActions.openPhone(data.kind);
  if (name === "other") return actions.openOther();
  if (name === "undo") return itemActions.openUndo(data.merge);
  if (name === "delete") return actions.openDelete();
  if (["remove", "password", "restore", "discard"].includes(name)) return go(name, data);
  go("overview");
}

// Display

let shown = null;

const isNamed = (account) => Boolean(account.email ?? account.phoneNumber ?? account.displayName);

const conditions = {
  canReturn: () => view.data.canReturn,
  lost: () => view.data.state === "lost",
  named: () => isNamed(user),
  noWays: () => view.data.methods.length === 0,
  others: () => others().length > 0,
  unnamed: () => !isNamed(user),
  undoable: () => Boolean(view.data.until),
  ways: () => view.data.methods.length > 0,
};

function show() {
  const isFirst = shown === null;
  const isNew = view !== shown;
  shown = view;
  // The overview is long: it shows the status in the section of the change, and at its end only to screen readers.
  document.body.dataset.step = view.name;
  if (isNew) byId("step").replaceChildren(build(view.name, (part) => conditions[part](), act));
  say();
  for (const field of document.querySelectorAll("input[autocomplete=username]")) field.value = user?.email ?? "";
  markField();
  const target = focused && document.querySelector(focused);
  if (target) {
    target.tabIndex = -1;
    target.focus();
  } else if (isNew && !isFirst) {
    document.querySelector("h1").focus();
  }
  focused = null;
  if (problem) byId("problem").scrollIntoView({ block: "nearest" });
}

// The problems of the field of a step.
const wrongFields = [
  "code-incomplete", "country-missing", "invalid-phone-number", "missing-number", "number-in-use", "number-too-long",
  "number-too-short", "region-disabled", "weak-password", "wrong-code", "wrong-confirmation", "wrong-proof",
];

function markField() {
  const field = byId("step").querySelector("input[aria-describedby]");
  if (!field) return;
  const isWrong = wrongFields.includes(problem?.replace("problem.", ""));
  field.setAttribute("aria-invalid", isWrong);
  if (isWrong) field.focus();
}

// Shows everything in the chosen language.
function say() {
  if (!view.name) return;
  for (const name of Object.keys(loaders)) showSection(name);
  const step = byId("step");
  step.querySelector("[data-choices]")?.replaceChildren(...sections.mergeChoices(merge, parts));
  step.querySelector("[data-outcome]")?.replaceChildren(...sections.mergeOutcome(merge, parts));
  step.querySelector("[data-methods]")?.replaceChildren(...sections.suspects(content, parts));
  step.querySelector("[data-password]")?.replaceChildren(...sections.passwordOffer(content, user, project, parts));
  step.querySelector("[data-undo]")?.replaceChildren(...sections.merges(content.merges.found, parts));
  const note = step.querySelector("[data-waiting]");
  if (note) note.textContent = waiting ? text(waiting) : "";
  const report = step.querySelector(`[data-section="${view.data.noted}"] [data-note]`);
  if (report) report.textContent = status ? text(status) : "";
  fill(texts.language, text, problem, status);
  markBusy(isBusy);
}

function showSection(name) {
  if (view.name !== "overview" || shown !== view) return;
  const place = document.querySelector(`[data-section=${name}] [data-content]`);
  place?.replaceChildren(...sections.section(name, content, { user, project }, parts));
  place?.setAttribute("aria-busy", content[name].isLoading);
}

// The functions of the page that its sections call.
const parts = {
  act: actOn,
  choose,
  date: (instant) => texts.date(instant),
  has: (name) => texts.has(name),
  moment: (instant) => texts.moment(instant),
  nameOf: (method) => texts.nameOf(method),
  phraseOf: (method) => texts.phraseOf(method),
  sideName: (side) => texts.accountName(merge.side(side).user),
  text,
};

// The string `name`, or the value `{name}`, with placeholders filled by `more` first.
function text(name, more = {}) {
  const places = {
    absorbed: () => view.data.absorbed ?? texts.accountName(merge?.absorbed.user),
    account: () => view.data.account,
    app: () => texts.app,
    confirmation: () => view.data.confirmation,
    devices: () => texts.number(view.data.devices),
    email: () => view.data.email ?? texts.accountName(user),
    kind: () => view.data.kind,
    method: () => texts.phraseOf(view.data.method),
    methods: () => texts.list(view.data.methods.map((method) => texts.phraseOf(method))),
    name: () => texts.nameOf(view.data.method),
    number: () => view.data.number,
    others: () => texts.list(others().map((method) => texts.phraseOf(method))),
    reason: () => view.data.reason,
    sessions: () => texts.number(view.data.sessions),
    state: () => view.data.state,
    survivor: () => view.data.survivor ?? texts.accountName(merge?.survivor.user),
    until: () => texts.moment(view.data.until ?? view.data.expireTime),
  };
  if (name === "{rules}") return texts.rules(passwordPolicy);
  for (const [place, value] of Object.entries(more)) places[place] = () => value;
  return texts.filled(name, places);
}

// Start

// The step or section that the link to the page named.
function entrance() {
  const name = entrances.find((entrance) => entrance === location.hash.slice(1)) ?? null;
  if (location.hash) history.replaceState(history.state, "", location.pathname + location.search);
  return name;
}

async function begin() {
  problem = null;
  // After a failure, the person tries again with the same code.
  arrived ??= { named: entrance(), ...arrival() };
  setBusy(true);
  try {
    if (arrived.message) return await help(arrived.message);
    await prepare();
    const { code, named, trip = null } = arrived;
    if (code) {
      await takeSession(await exchange(code, trip.verifier));
      arrived.code = null;
    } else if (kept.refreshToken) {
      session ??= new Session(project.apiKey, { refreshToken: kept.refreshToken });
    }
    if (!session) {
      if (!arrived.isForeign) {
        return await leave({ lang: texts.language }, { waits: named && { name: named } }, { replacesEntry: true });
      }
      problem = "problem.code-unusable";
      go("start");
    } else {
      user = await accountOf(session);
      arrived = null;
      await enter(trip, named);
    }
  } catch (error) {
    const type = typeOf(error);
    if (type === "invalid-session" && session) end("session");
    else if (["code-unusable", "wrong-proof", "no-storage", "insecure-page"].includes(type)) {
      problem = type === "wrong-proof" ? "problem.code-unusable" : problemOf(type, error);
      go("start");
    } else go("away", { reason: problemOf(type, error).replace("problem.", "") });
  } finally {
    setBusy(false);
    if (view.name) show();
  }
}

async function prepare() {
  project ??= await call("GET", own("signIn"));
  texts.methods = project.methods;
  [passwordPolicy, { operations: reauthentication }] = await Promise.all([
    call("GET", "v2/passwordPolicy", { apiKey: project.apiKey }),
    call("GET", own("reauthentication-policy")),
  ]);
}

async function takeSession(answer) {
  // The account may be another one.
  dropErrand();
  keepSession(new Session(project.apiKey, answer));
  const { email } = claims(answer.idToken);
  if (email && answer.deviceToken) remember({ email, deviceToken: answer.deviceToken });
}

// Shows the account. After a newer sign-in, the earlier session ends, and the change that waited is offered again.
async function enter(trip, named) {
  go("overview");
  show();
  const isSame = !trip?.user || trip.user === user.localId;
  if (!isSame) {
    problem = "problem.wrong-account";
  } else if (trip?.replaces) {
    // First, because it changes the version of the account.
    await session.call("DELETE", own(`account/sessions/${trip.replaces}`), { key: randomText() }).catch(() => {});
  }
  await loadAll();
  if (!session) return;
  const waits = isSame ? trip?.waits ?? (named && { name: named }) : null;
  if (!waits) return;
  if (waits.name === "notMe") go("notMe");
  else if (entrances.includes(waits.name)) focusOn(waits.name);
  else await resume(waits);
}

// Moves to a section, which is on the screen already.
function focusOn(name) {
  go("overview");
  focused = headingOf(name);
}

// The tab of an errand: passes its answer on, and closes.
async function help(message) {
  go("helper", { state: "busy" });
  show();
  const isTaken = await pass(message, () => {
    setBusy(false);
    go("helper", { state: "lost" });
    show();
  });
  if (!isTaken) return;
  go("helper", { state: "done" });
  window.close();
}

byId("host").textContent = location.host;
speak(texts.language);
offerLanguages(byId("languages"), languages, (tag) => {
  texts.language = tag;
  speak(tag);
  keep({ language: tag });
  if (shown) say();
});
// Another tab or device may have changed the account.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && session && view.name === "overview" && !isBusy) loadAll();
});
// The person went back to the account from another page of this tab.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted && session) setBusy(false);
});
addEventListener("hashchange", () => {
  const name = location.hash && entrance();
  if (!session || !name) return;
  if (name === "notMe") go("notMe");
  else focusOn(name);
  show();
});

const ready = begin();
await ready;

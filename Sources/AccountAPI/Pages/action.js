// The page that links in mails open, and `/__/auth/links`, which opens instead of an app that is not installed. It
// calls the compatible API, as an app of the project would.
//
// Mail scanners open links, so opening the page changes nothing. The page stores the parameters of the link in the
// state of this tab's history entry and removes them from the address. If the link has no code, the page asks for the
// short code in the mail and exchanges it. A sign-in code goes to the app only when the person presses the button that
// names its host: a mail gateway that runs scripts presses no buttons.

import { app, build, fill, markBusy, offerLanguages, preferredLanguage, rules, spaced } from "./common.js";

const file = async (path) => (await fetch(new URL(path, import.meta.url))).json();
const { languages, strings } = await file("action.json");

const callTimeout = 15_000;

// The type of a code, by the `mode` of its link.
const types = {
  recoverEmail: "RECOVER_EMAIL",
  resetPassword: "PASSWORD_RESET",
  revertSecondFactorAddition: "REVERT_SECOND_FACTOR_ADDITION",
  revertSignInMethodChange: "REVERT_SIGN_IN_METHOD_CHANGE",
  verifyAndChangeEmail: "VERIFY_AND_CHANGE_EMAIL",
  verifyEmail: "VERIFY_EMAIL",
};
// Links that undo a change by another person, who may know the password.
const recovers = new Set(["recoverEmail", "revertSignInMethodChange"]);
// The string for each error of the API. The first errors end the process; after the others, the person can try again.
const stoppers = {
  EMAIL_EXISTS: "taken",
  EXPIRED_OOB_CODE: "expired",
  INVALID_OOB_CODE: "used",
  OPERATION_NOT_ALLOWED: "not-allowed",
  PASSWORD_LOGIN_DISABLED: "not-allowed",
  USER_DISABLED: "user-disabled",
  USER_NOT_FOUND: "used",
};
// The string for each problem that Concord's own API answers to a short code.
const codeProblems = {
  "malformed-request": "wrong-code",
  "too-many-attempts": "code-over",
  "wrong-proof": "wrong-code",
};
// The type of a short code, by the `mode` of the link in the same mail.
const codeTypes = {
  resetPassword: "PASSWORD_RESET",
  signIn: "EMAIL_SIGNIN",
  verifyAndChangeEmail: "VERIFY_AND_CHANGE_EMAIL",
  verifyEmail: "VERIFY_EMAIL",
};
const problems = {
  INVALID_PASSWORD: "weak",
  MISSING_PASSWORD: "weak",
  PASSWORD_DOES_NOT_MEET_REQUIREMENTS: "weak",
  RESET_PASSWORD_EXCEED_LIMIT: "too-many",
  TOO_MANY_ATTEMPTS_TRY_LATER: "too-many",
  WEAK_PASSWORD: "weak",
};

class Problem extends Error {
  constructor(name, isFinal = false) {
    super(name);
    this.name = name;
    this.isFinal = isFinal;
  }
}

// The parameters of the link: mode, oobCode, apiKey, lang, continueUrl, tenantId.
let link = history.state ?? {};
let language = "en";
// The purpose of the code and the password policy of the project, once they are read.
let code = null;
let policy = null;
// True if the project lets this page continue to `continueUrl`.
let isAuthorized = false;
// The names of sign-in methods, loaded when the page names some.
let named = null;
// True while the person disowns the account, and the answer of the API to that.
let isDoubting = false;
let disowned = null;
// The answer of the API to the code.
let applied = null;
// The idempotency key of one request, the same for every retry.
const disownKey = crypto.getRandomValues(new Uint32Array(4)).join("-");
// The step on the screen, the reason why it stopped, the problem, and the status.
let shown = null;
let reason = null;
let problem = null;
let status = null;
let isDone = false;
let isSecured = false;
let isBusy = false;

const byId = (id) => document.getElementById(id);

function keep(changes) {
  link = { ...link, ...changes };
  history.replaceState(link, "", location.pathname);
}

// The API

async function call(method, path, body, parameters = {}, headers = {}) {
  const url = new URL(`../../${path}`, import.meta.url);
  for (const [name, value] of Object.entries({ key: link.apiKey, ...parameters })) {
    if (value) url.searchParams.set(name, value);
  }
  let answer;
  try {
    const response = await fetch(url, {
      method,
      headers: { "X-Firebase-Locale": language, ...(body && { "Content-Type": "application/json" }), ...headers },
      body: body && JSON.stringify({ ...body, tenantId: link.tenantId }),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(callTimeout),
    });
    answer = await response.json();
  } catch (error) {
    throw new Problem(error instanceof SyntaxError ? "unavailable" : "offline");
  }
  const problem = String(answer.type ?? "").split(":").at(-1);
  if (codeProblems[problem]) throw new Problem(codeProblems[problem]);
  if (problem === "refused") throw new Problem("used", true);
  if (problem === "user-disabled") throw new Problem(problem, true);
  if (problem) throw new Problem("unavailable");
  if (!answer.error) return answer;
  const [name] = String(answer.error.message).split(" : ");
  if (stoppers[name]) throw new Problem(stoppers[name], true);
  if (problems[name]) throw new Problem(problems[name]);
  if (answer.error.code >= 500) throw new Problem("unavailable");
  throw new Problem("damaged", true);
}

const needsCode = () => !link.oobCode && (!link.mode || Boolean(codeTypes[link.mode]));

// Reads the purpose of the code without using the code.
async function read() {
  if (needsCode()) return;
  if (link.mode === "signIn") {
    await askWhereTo();
    if (!isAuthorized) throw new Problem("no-app", true);
    return;
  }
  if (!link.apiKey) throw new Problem("damaged", true);
  // Before anything can stop the page, so that it leads back to the app from there too.
  await askWhereTo();
  if (!link.oobCode || !types[link.mode]) throw new Problem("damaged", true);
  if (link.mode === "resetPassword") policy = await call("GET", "v2/passwordPolicy");
  const found = await call("POST", "v1/accounts:resetPassword", { oobCode: link.oobCode });
  if (found.requestType !== types[link.mode]) throw new Problem("damaged", true);
  if (found.concord) named ??= await calledNames();
  code = found;
}

async function askWhereTo() {
  const config = await call("GET", "v1/projects", undefined, { concordDestination: link.continueUrl });
  isAuthorized = config.concordAuthorized === true;
}

// The same as on the conflict page.
async function calledNames() {
  try {
    return await file("../../conflict/strings.json");
  } catch {
    throw new Problem("offline");
  }
}

// Actions

const actions = {
  async apply() {
    if (link.mode === "resetPassword") {
      const newPassword = byId("password-field").value;
      if (!newPassword) throw new Problem("weak");
      await call("POST", "v1/accounts:resetPassword", { oobCode: link.oobCode, newPassword });
    } else {
      applied = await call("POST", "v1/accounts:update", { oobCode: link.oobCode });
      // The result may differ from what the page announced.
      if (applied.concord?.reversal || applied.concord?.suspended) code = { ...code, concord: applied.concord };
    }
    // After a reload, the page shows that the link was used.
    isDone = true;
  },

  async doubt() {
    isDoubting = true;
  },

  async back() {
    isDoubting = false;
  },

  async disown() {
    const body = { oobCode: link.oobCode };
    disowned = await call("POST", "concord/v1/emailCode:disown", body, {}, { "Idempotency-Key": disownKey });
    isDone = true;
  },

  async exchange() {
    // The app uses the code itself: a code that this page uses would be lost.
    if (link.mode === "signIn" && !link.continueUrl) throw new Problem("no-app", true);
    const mode = link.mode ?? byId("purpose-field").value;
    const found = await call("POST", "concord/v1/shortCode:exchange", {
      requestType: codeTypes[mode],
      email: byId("email-field").value.trim(),
      code: byId("code-field").value,
    });
    keep({ ...parameters(found.oobLink), lang: link.lang ?? language });
    await read();
  },

  // The app uses the code itself: it gets the whole link, and this page does not check the code.
  async handOn() {
    const url = new URL(link.continueUrl);
    for (const [name, value] of Object.entries(link)) if (name !== "continueUrl") url.searchParams.set(name, value);
    location.replace(url);
  },

  // The person who made the change may know the password.
  async secure() {
    await call("POST", "v1/accounts:sendOobCode", { requestType: "PASSWORD_RESET", email: code.email });
    isSecured = true;
    status = "recoverEmail.sent";
  },

  retry: read,
};

async function act(name) {
  if (isBusy) return;
  problem = null;
  status = "busy";
  setBusy(true);
  say();
  status = null;
  try {
    reason = null;
    await actions[name]();
  } catch (error) {
    if (!(error instanceof Problem)) console.error(error);
    const known = error instanceof Problem ? error : new Problem("unavailable");
    if (known.isFinal || (!code && !needsCode())) reason = known.name;
    else problem = `problem.${known.name}`;
  }
  setBusy(false);
  show();
}

function setBusy(busy) {
  isBusy = busy;
  markBusy(busy);
}

// Display

function step() {
  if (isDone) return disowned ? "disowned" : "done";
  if (reason) return ["offline", "unavailable"].includes(reason) ? "away" : "stopped";
  if (needsCode()) return "code";
  if (link.mode === "signIn") return "onward";
  if (code.concord?.account) return isDoubting ? "disown" : "claim";
  return link.mode === "resetPassword" ? "password" : "confirm";
}

// Shows everything in the chosen language.
function say() {
  byId("step").querySelector("[data-suspended]")?.replaceChildren(...suspendedItems());
  byId("step").querySelector("[data-methods]")?.replaceChildren(...methodItems());
  for (const list of byId("step").querySelectorAll("[data-reversal]")) {
    list.replaceChildren(...reversal(list.dataset.reversal).map((method) => listItem(method, "strong")));
  }
  fill(language, text, problem, status);
}

// The sign-in methods that the account loses by a new password, by restoring the address, or by disowning the account.
const suspended = () => disowned?.suspended ?? code?.concord?.suspended ?? code?.concord?.disown?.suspended ?? [];
// The sign-in methods of the account.
const methods = () => code?.concord?.account?.signInMethods ?? [];

const suspendedItems = () => suspended().map(({ method }) => listItem(method, "s"));

const methodItems = () => methods().map((method) => listItem(method, "strong"));

// The sign-in methods that undoing a change removes (`removed`), restores (`restored`), or cannot restore (`taken`).
const reversal = (part) => code?.concord?.reversal?.[part] ?? [];

function listItem(method, element) {
  const item = document.createElement("li");
  const name = document.createElement(element);
  const ending = code?.concord?.account?.phoneInfo?.slice(-4);
  name.textContent = method === "phone" && ending
    ? strings[language]["verifyEmail.phone"].replace("{ending}", ending)
    : named.strings[language][`method.${method}`] ?? named.names[method] ?? method.replace(/^(oidc|saml)\./, "");
  item.append(name);
  return item;
}

function shownDate(text, more = {}) {
  return new Intl.DateTimeFormat(language, { dateStyle: "long", ...more }).format(new Date(text));
}

// The time until which suspended sign-in methods can be restored.
const keptUntil = () => suspended().map(({ expireTime }) => expireTime).filter(Boolean).sort()[0];

// The optional parts of a step, by the name of `data-if`.
const conditions = {
  recovered: () => recovers.has(link.mode) && !isSecured,
  // A link that undoes a change does not continue to `continueUrl`: the change was requested there.
  onward: () => onward() !== null && !recovers.has(link.mode),
  purpose: () => !link.mode,
  suspending: () => ["resetPassword", "recoverEmail"].includes(link.mode) && suspended().length > 0,
  // An account whose address was never proven before this code.
  enterable: () => methods().length > 0,
  bare: () => methods().length === 0,
  ending: () => code.concord.endsSessions,
  ended: () => applied?.concord?.endedSessions === true,
  stopping: () => suspended().length > 0,
  "stopping-none": () => suspended().length === 0,
  restorable: () => keptUntil() !== undefined && !givesUp(),
  "taken-over": () => !givesUp(),
  "given-up": () => givesUp(),
  final: () => !conditions.onward() && !conditions.recovered(),
  returning: () => conditions.onward(),
  staying: () => !conditions.onward(),
  removed: () => reversal("removed").length > 0,
  restored: () => reversal("restored").length > 0,
  taken: () => reversal("taken").length > 0,
};

// The account loses the address and does not go to the owner of the address.
const givesUp = () => disowned?.gaveAddressUp ?? code.concord.disown.givesAddressUp;

function onward() {
  return isAuthorized ? link.continueUrl : null;
}

function show() {
  const next = step();
  const isFirst = shown === null;
  const isNew = next !== shown || next === "done";
  shown = next;
  if (isNew) byId("step").replaceChildren(built(next));
  say();
  // Moves the focus to the change, for people who cannot see it.
  if (isNew && !isFirst) document.querySelector("h1").focus();
  const field = byId("password-field");
  field?.setAttribute("aria-invalid", problem === "problem.weak");
  if (problem === "problem.weak") field?.focus();
  const codeField = byId("code-field");
  codeField?.setAttribute("aria-invalid", problem === "problem.wrong-code");
  if (problem === "problem.wrong-code") codeField?.focus();
}

function built(name) {
  const view = build(name, (part) => conditions[part](), act);
  for (const part of view.querySelectorAll("[data-href]")) part.href = onward();
  for (const part of view.querySelectorAll("[data-value]")) part.value = code[part.dataset.value];
  return view;
}

// The string `name` with its placeholders filled. The name itself may have placeholders.
function text(name) {
  const places = {
    app: () => app ?? strings[language].app,
    created: () => shownDate(code.concord.account.createTime, { timeStyle: "short" }),
    // The host as the browser parses it, so that look-alike characters are not shown.
    destination: () => new URL(link.continueUrl).host,
    email: () => code.email,
    kept: () => shownDate(keptUntil()),
    mode: () => link.mode,
    newEmail: () => code.newEmail,
    reason: () => reason,
    rules: () => rules(policy, strings[language], language),
  };
  const filled = (pattern) => pattern.replace(/\{(\w+)\}/g, (_, place) => places[place]());
  return name === "{rules}" ? filled(name) : filled(spaced(strings[language][filled(name)], language));
}

// Start

function parameters(address) {
  const query = new URL(address).searchParams;
  const names = ["mode", "oobCode", "apiKey", "lang", "continueUrl", "tenantId"];
  return Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
}

// A link for the app, which wraps the link to this page.
function unwrapped(address) {
  const inner = new URL(address).searchParams.get("link");
  try {
    return inner && new URL(inner).pathname.endsWith("/__/auth/action") ? inner : null;
  } catch {
    return null;
  }
}

byId("host").textContent = location.host;
if (location.search) {
  const address = location.pathname.endsWith("/links") ? unwrapped(location.href) : location.href;
  link = {};
  // `/__/auth/links` needs a link.
  keep(address ? parameters(address) : { mode: "none" });
}
language = preferredLanguage([link.chosen, link.lang, ...navigator.languages], Object.keys(languages));
offerLanguages(byId("languages"), languages, (tag) => {
  language = tag;
  keep({ chosen: tag });
  if (shown) say();
});
await act("retry");

// The page on which people resolve a conflict. It calls only Concord's own API (docs/openapi.json).
//
// Secrets arrive after the `#` of the address. The page stores them in the state of this tab's history entry, which a
// reload restores and which no history list, other tab or server sees (ADR 0022):
//
// - handle: names the conflict;
// - linkSecret: from a mailed link; proves the conflict once the person has agreed;
// - proofToken: the answer to the proof; resolves the conflict;
// - key: the Idempotency-Key of the resolution, so that a repetition gets the same session.
//
// The app may send where it waits: `#handle=…&continueUrl=…&state=…&codeChallenge=…`. The page gives these to Concord,
// which checks them and stores them with the conflict, so that the mailed link has them on any device. The page ends
// with a button that leads there. If the conflict was resolved here, the button requests a code, by which the app gets
// the session. The session's ID token is never stored (ADR 0103).
//
// The page stores the suspended sign-in methods with the secrets, so that a reload shows them again.

import { app, build, digits, fill, markBusy, offerLanguages, preferredLanguage, spaced } from "./common.js";

const { languages, names, strings } = await (await fetch(new URL("strings.json", import.meta.url))).json();
const api = new URL("concord/v1/conflict", document.baseURI).href;

const callTimeout = 15_000;
// Milliseconds between two polls for actions on another device. Each wait is longer than the one before.
const wait = { first: 2_000, growth: 1.3, longest: 20_000 };
// More polls than fit into the lifetime of a conflict, 1 hour.
const looksMax = 300;

const endings = ["resolved", "declined", "stopped"];
// Problems that end the page. The text of each says where to continue.
const stoppers = [
  "no-handle", "conflict-unknown", "conflict-expired", "conflict-superseded", "identity-in-use",
  "provider-already-linked", "provider-disabled", "refused", "second-factor-required", "user-disabled",
];
// Problems that make the proof worthless.
const proofEnders = ["proof-expired", "proof-required", "proof-stale"];

let kept = history.state ?? {};
let language = kept.language ?? preferredLanguage(navigator.languages, Object.keys(languages));
// The conflict as last read and its entity tag, or null.
let conflict = null;
let version = null;
// The way back to the app, or null.
let wayBack = null;
// The ID token of the session that resolving the conflict here has opened, or null.
let idToken = null;
// The type of the problem that prevents reading or resolving the conflict.
let reason = null;
// The names of the strings for the problem and the status.
let problem = null;
let status = null;
// The step on the screen.
let shown = null;
let isBusy = false;
// Number of actions of the person. The answer to a poll from before an action is ignored.
let turn = 0;
let looks = 0;
let delay = wait.first;
let timer = null;

const byId = (id) => document.getElementById(id);

// Secrets

function keep(changes) {
  kept = { ...kept, ...changes };
  history.replaceState(kept, "", location.pathname);
}

function forgetProof() {
  keep({ linkSecret: undefined, proofToken: undefined, key: undefined });
}

// Reads `#handle=…&proof=…` of a mailed link, or `#HANDLE` or `#HANDLE&continueUrl=…` of an app, and removes it from
// the address.
function takeFragment() {
  const fragment = location.hash.slice(1);
  if (!fragment) return;
  const fields = new URLSearchParams(fragment.split("&", 1)[0].includes("=") ? fragment : `handle=${fragment}`);
  const continueUrl = fields.get("continueUrl");
  keep({
    handle: fields.get("handle"),
    linkSecret: fields.get("proof"),
    proofToken: undefined,
    key: undefined,
    wayBack: continueUrl
      ? {
        continueUrl,
        state: fields.get("state") ?? undefined,
        codeChallenge: fields.get("codeChallenge") ?? undefined,
      }
      : undefined,
  });
}

// The API

class Problem extends Error {
  constructor(type) {
    super(type);
    this.type = type;
  }
}

// Returns the answer and its entity tag. Throws a Problem: `offline` if there is no answer.
async function call(method, path = "", body = undefined, key = undefined) {
  if (!kept.handle) throw new Problem("no-handle");
  // A handle has only characters that a header field allows.
  if (!/^[\w-]+$/.test(kept.handle)) throw new Problem("conflict-unknown");
  const headers = { "Accept-Language": language, Authorization: `Bearer ${kept.handle}` };
  if (kept.proofToken) headers["Concord-Proof"] = kept.proofToken;
  if (body) headers["Content-Type"] = "application/json";
  if (body && version) headers["If-Match"] = version;
  if (key) headers["Idempotency-Key"] = key;
  let response;
  let answer;
  try {
    response = await fetch(api + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(callTimeout),
    });
    answer = await response.text();
  } catch {
    throw new Problem("offline");
  }
  return { content: content(answer, response), version: response.headers.get("ETag") };
}

// A proxy may answer with an HTML page and any status.
function content(answer, response) {
  let parsed;
  try {
    parsed = JSON.parse(answer);
  } catch {
    throw new Problem("unavailable");
  }
  if (response.ok) return parsed;
  const type = String(parsed.type).replace("urn:concord:problem:", "");
  throw new Problem(`problem.${type}` in strings.en ? type : "internal-error");
}

function take({ content, version: tag }) {
  conflict = content.conflict ?? content;
  version = tag;
  reason = ["expired", "superseded"].includes(conflict.state) ? `conflict-${conflict.state}` : null;
  if (content.proofToken) keep({ linkSecret: undefined, proofToken: content.proofToken });
  if (!["open", "proven"].includes(conflict.state)) forgetProof();
}

async function read() {
  takeRead(await readAnswer());
}

// The app's page goes first: the answer names the way back to it.
async function readAnswer() {
  await sendWayBack();
  return call("GET");
}

// Only the answer to a read has the way back. The others leave it as it is.
function takeRead(answer) {
  take(answer);
  wayBack = conflict.return ?? null;
}

// Stores the page of the app with the conflict. Without it, or if it is refused, people find their own way back.
async function sendWayBack() {
  if (!kept.wayBack) return;
  try {
    await call("POST", "/return", kept.wayBack);
  } catch (error) {
    if (["offline", "unavailable"].includes(typeOf(error))) throw error;
    console.warn(`continueUrl: ${typeOf(error)}`);
  }
  keep({ wayBack: undefined });
}

// Actions

const actions = {
  async send() {
    take(await call("POST", "/proof", { kind: "mailbox" }));
    forgetProof();
    if (shown !== "code") return;
    byId("code-field").value = "";
    status = "status.sent";
  },

  async check() {
    const code = digits(byId("code-field").value);
    if (code.length !== 8) throw new Problem("code-incomplete");
    take(await call("POST", "/proof:complete", { code }));
  },

  async confirm() {
    take(await call("POST", "/proof:complete", { linkSecret: kept.linkSecret }));
  },

  async link() {
    // Stored before and after the call, because an answer may get lost.
    keep({ suspended: conflict.suspended });
    const { content } = await resolve();
    keep({ suspended: content.suspended });
    idToken = content.idToken;
    await read();
  },

  async decline() {
    await call("POST", ":decline", {});
    await read();
  },

  retry: read,
};

// Repeats the request once, under the same key, if its answer is lost: only the answer has the session.
async function resolve() {
  // `randomUUID` would need HTTPS.
  if (!kept.key) keep({ key: [...crypto.getRandomValues(new Uint32Array(4))].join("-") });
  const send = () => call("POST", ":resolve", { proofToken: kept.proofToken }, kept.key);
  try {
    return await send();
  } catch (error) {
    if (error.type !== "offline") throw error;
    return send();
  }
}

async function act(name) {
  if (isBusy) return;
  turn += 1;
  problem = null;
  status = "status.busy";
  setBusy(true);
  say();
  status = null;
  try {
    await actions[name]();
  } catch (error) {
    await recover(error, name);
  }
  setBusy(false);
  show();
  watch(wait.first);
}

function setBusy(busy) {
  isBusy = busy;
  markBusy(busy);
}

// Reads the conflict again after an error, because the answer to a successful action may have been lost.
async function recover(error, action) {
  const type = typeOf(error);
  const special = `problem.${type}.${action}`;
  problem = special in strings.en ? special : `problem.${type}`;
  if (type === "code-incomplete") return;
  if (proofEnders.includes(type) || special === "problem.wrong-proof.confirm") forgetProof();
  if (stoppers.includes(type)) {
    reason = type;
    return;
  }
  try {
    await read();
    if (special === "problem.wrong-proof.check" && !conflict.proof?.attemptsLeft) problem = "problem.too-many-attempts";
  } catch (another) {
    if (!conflict || stoppers.includes(typeOf(another))) reason = typeOf(another);
  }
}

// A bug in the page shows as an internal error, so that the person does not wait.
function typeOf(error) {
  if (error instanceof Problem) return error.type;
  console.error(error);
  return "internal-error";
}

// Display

function step() {
  if (stoppers.includes(reason)) return "stopped";
  if (!conflict) return "away";
  const { state, proof, signInMethods } = conflict;
  if (state === "proven") {
    if (signInMethods) return "proven";
    return proof ? "elsewhere" : "start";
  }
  if (state !== "open") return state;
  if (!proof?.attemptsLeft) return "start";
  return kept.linkSecret ? "consent" : "code";
}

function show() {
  const next = step();
  if (next === "start" && kept.linkSecret || ["start", "elsewhere"].includes(next) && kept.proofToken) {
    problem ??= "problem.proof-expired";
    forgetProof();
  }
  if (next === "away" || endings.includes(next)) problem = null;
  const isFirst = shown === null;
  const isNew = next !== shown;
  shown = next;
  if (isNew) byId("step").replaceChildren(built(next));
  say();
  // Moves the focus to the change, for people who cannot see it.
  if (isNew && !isFirst) document.querySelector("h1").focus();
  markField(["problem.code-incomplete", "problem.wrong-proof.check"].includes(problem));
  if (problem) byId("problem").scrollIntoView({ block: "nearest" });
}

function built(name) {
  const view = build(name, (part) => (conditions[part] ?? (() => conflict[part]))(), act);
  for (const link of view.querySelectorAll("[data-back]")) {
    link.href = wayBack.url;
    link.addEventListener("click", goBack);
  }
  return view;
}

// Takes a code for the session along, which expires a minute later: so it is requested now. Without it, people sign in.
async function goBack(event) {
  if (!idToken || !wayBack.givesCode) return;
  event.preventDefault();
  if (isBusy) return;
  setBusy(true);
  let { url } = wayBack;
  try {
    ({ url } = (await call("POST", "/return:issueCode", { idToken })).content);
  } catch (error) {
    console.warn(`session code: ${typeOf(error)}`);
  }
  setBusy(false);
  location.assign(url);
}

function markField(isWrong) {
  const field = byId("code-field");
  field?.setAttribute("aria-invalid", isWrong);
  if (isWrong) field?.focus();
}

// The optional parts of a step, by the name of `data-if`. Other names are members of the conflict.
const conditions = {
  keeping: () => stopping().length === 0,
  taking: () => stopping().length > 0,
  suspending: () => Boolean(stopping()[0]?.expireTime),
  // The project does not keep suspended methods.
  deleting: () => stopping().length > 0 && !stopping()[0].expireTime,
  replacing: () => conflict.replaced?.length > 0,
  suspended: () => kept.suspended?.length > 0,
  returning: () => wayBack !== null,
  staying: () => wayBack === null,
};

// The sign-in methods that connecting suspends.
const stopping = () => conflict.suspended ?? [];

// Shows everything in the chosen language.
function say() {
  byId("step").querySelector("[data-methods]")?.replaceChildren(...methodItems());
  byId("step").querySelector("[data-suspended]")?.replaceChildren(...suspendedItems());
  fill(language, text, problem, status);
}

function methodItems() {
  const { providerId, signInMethods } = conflict;
  const stops = stopping().map(({ method }) => method);
  return [...new Set([...signInMethods, providerId])].map((method) => {
    // Screen readers do not announce a struck-through word: the label says it as well.
    if (stops.includes(method)) return methodItem(struck(method), labelled("proven.off", "off"));
    return methodItem(nameOf(method), ...(signInMethods.includes(method) ? [] : [labelled("proven.new", "")]));
  });
}

function methodItem(name, ...more) {
  const item = document.createElement("li");
  item.append(name, ...more.flatMap((part) => [" ", part]));
  return item;
}

function struck(method) {
  const name = document.createElement("s");
  name.textContent = nameOf(method);
  return name;
}

function labelled(name, style) {
  const label = document.createElement("span");
  label.className = style;
  label.textContent = text(name);
  return label;
}

// The suspended sign-in methods, each with the way to restore it.
function suspendedItems() {
  return (kept.suspended ?? []).map((suspension) => {
    const way = document.createElement("p");
    way.textContent = text(`restore.${suspension.restore.by}`, suspension);
    return methodItem(struck(suspension.method), way);
  });
}

// The string `name` with its placeholders filled. The name itself may have placeholders, or be only a placeholder.
// `suspension`: the suspended method that the string describes, or null.
function text(name, suspension = null) {
  const places = {
    app: () => app ?? strings[language].app,
    attempts: () => conflict.proof?.attemptsLeft ?? 0,
    email: () => conflict.email,
    kept: () => time((suspension ?? stopping()[0]).expireTime, { dateStyle: "long" }),
    kind: () => conflict.kind,
    methods: () => list(stopping().map(({ method }) => nameOf(method))),
    provider: () => nameOf(conflict.providerId),
    reason: () => reason,
    time: () => time(conflict.openTime, { dateStyle: "medium", timeStyle: "short" }),
    until: () => time(conflict.proof.expireTime, { timeStyle: "short" }),
  };
  const filled = (pattern) => pattern.replace(/\{(\w+)\}/g, (_, place) => places[place]());
  return name.startsWith("{") ? filled(name) : filled(spaced(strings[language][filled(name)], language));
}

// The display name of a sign-in method. Providers that a project has registered itself have only an id.
function nameOf(method) {
  return strings[language][`method.${method}`] ?? names[method] ?? method.replace(/^(oidc|saml)\./, "");
}

const list = (words) => new Intl.ListFormat(language, { type: "conjunction" }).format(words);

function time(instant, style) {
  return new Intl.DateTimeFormat(language, style).format(new Date(instant));
}

// Other devices

// Polls again after a while, until the conflict has ended.
function watch(after) {
  clearTimeout(timer);
  delay = Math.min(after, wait.longest);
  if (!endings.includes(shown) && looks < looksMax) timer = setTimeout(look, delay);
}

async function look() {
  // While the page is hidden, it does not poll; `visibilitychange` resumes.
  if (isBusy || document.hidden) return;
  looks += 1;
  const asked = turn;
  try {
    const answer = await readAnswer();
    if (asked === turn) notice(() => takeRead(answer));
  } catch (error) {
    const type = typeOf(error);
    if (asked === turn && stoppers.includes(type)) notice(() => (reason = type));
  }
  if (asked === turn) watch(Math.max(delay, wait.first) * wait.growth);
}

function notice(change) {
  change();
  if (step() === shown) return;
  problem = null;
  status = null;
  show();
}

// Start

// A sign-up that waits for its mailbox. Its handle is shorter than that of every conflict.
const isSignUp = (handle) => handle?.length === 43;

// An account may not exist yet, so the sign-in page continues.
function continueSignUp() {
  const values = { signUp: kept.handle, lang: kept.language, ...kept.wayBack };
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  location.replace(new URL(`signin#${new URLSearchParams(given)}`, document.baseURI));
}

async function begin() {
  takeFragment();
  if (isSignUp(kept.handle)) return continueSignUp();
  turn += 1;
  looks = 0;
  version = problem = status = wayBack = idToken = null;
  setBusy(true);
  try {
    await read();
  } catch (error) {
    conflict = null;
    reason = typeOf(error);
  }
  setBusy(false);
  shown = null;
  show();
  watch(wait.first);
}

byId("host").textContent = location.host;
offerLanguages(byId("languages"), languages, (tag) => {
  language = tag;
  keep({ language });
  if (shown) say();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) watch(0);
});
// The person opened another link in this tab, or went back to an earlier one.
addEventListener("hashchange", () => {
  if (location.hash) begin();
});
addEventListener("popstate", ({ state }) => {
  if (!state) return;
  kept = state;
  begin();
});
await begin();

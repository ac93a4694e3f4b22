// Calls from the sign-in page and the account page to their own service, the session of the person, and the accounts
// that this browser remembers.
//
// Tokens of a session stay in variables of the page. Only the refresh token may be in `history.state`, which a reload
// restores and no other tab sees. The local storage has addresses, methods and device tokens. A device token signs in
// nowhere (docs/concepts/sessions.md).

// Session storage: the state of the account page while the browser is at the sign-in page.
export const accountTripKey = "concord:account";

const callTimeout = 15_000;
// Seconds before its end at which an ID token is replaced.
const renewal = 60;
const remembered = "concord:accounts";
const rememberedMax = 5;
const namespace = "urn:concord:problem:";

// One name for each failure: the type of a problem of Concord's own routes, or one of these for a code of the
// compatible API. Other codes get their own name in lower case with hyphens.
const names = {
  CAPTCHA_CHECK_FAILED: "challenge-failed",
  CREDENTIAL_TOO_OLD_LOGIN_AGAIN: "insufficient-user-authentication",
  EMAIL_NOT_FOUND: "wrong-password",
  EXPIRED_OOB_CODE: "code-unusable",
  FEDERATED_USER_ID_ALREADY_LINKED: "identity-in-use",
  INVALID_CODE: "wrong-proof",
  INVALID_IDENTIFIER: "invalid-email",
  INVALID_ID_TOKEN: "invalid-session",
  INVALID_LOGIN_CREDENTIALS: "wrong-password",
  INVALID_MFA_PENDING_CREDENTIAL: "code-unusable",
  INVALID_OOB_CODE: "code-unusable",
  INVALID_PASSWORD: "wrong-password",
  INVALID_REFRESH_TOKEN: "invalid-session",
  INVALID_SESSION_INFO: "code-unusable",
  PASSWORD_DOES_NOT_MEET_REQUIREMENTS: "weak-password",
  PASSWORD_LOGIN_DISABLED: "provider-disabled",
  OPERATION_NOT_ALLOWED: "provider-disabled",
  QUOTA_EXCEEDED: "too-many-attempts",
  RESET_PASSWORD_EXCEED_LIMIT: "too-many-mails",
  SESSION_EXPIRED: "code-expired",
  TOKEN_EXPIRED: "invalid-session",
  TOO_MANY_ATTEMPTS_TRY_LATER: "too-many-attempts",
  USER_DISABLED: "user-disabled",
  USER_NOT_FOUND: "invalid-session",
};

// Failures that the compatible API names by a code and a text.
const namesByText = {
  "INVALID_PHONE_NUMBER : TOO_LONG": "number-too-long",
  "INVALID_PHONE_NUMBER : TOO_SHORT": "number-too-short",
  "OPERATION_NOT_ALLOWED : SMS unable to be sent until this region enabled by the app developer.": "region-disabled",
};

let language = "en";

// The language of mails and of answers.
export function speak(tag) {
  language = tag;
}

// A call that failed. `type` names the failure: `offline` without an answer, `unavailable` without a readable one.
// `details` is the problem document, or the error of the compatible API. `waitSeconds` is null if the service names no
// time.
export class Problem extends Error {
  constructor(type, details = {}, waitSeconds = null) {
    super(type);
    this.type = type;
    this.details = details;
    this.waitSeconds = waitSeconds;
  }
}

// The type of any error. A bug in a page is an internal error, so that the person does not wait.
export function typeOf(error) {
  if (error instanceof Problem) return error.type;
  console.error(error);
  return "internal-error";
}

// Calls the service and returns the JSON of its answer. Throws a Problem.
//
// - body: an object, sent as JSON.
// - bearer: an ID token, or the handle of a conflict or of a sign-up.
// - proof: the token of a conflict's proof.
// - key: an Idempotency-Key. If the answer gets lost, the call is repeated once, under the same key.
// - version: the entity tag of the resource that the call may change.
// - apiKey: the key of the project, for the compatible API.
export async function call(method, path, options = {}) {
  return (await answer(method, path, options)).content;
}

// Calls as `call` does. Returns the entity tag too.
export async function answer(method, path, options = {}) {
  try {
    return await send(method, path, options);
  } catch (error) {
    if (error.type !== "offline" || !(options.key || method === "GET")) throw error;
    return send(method, path, options);
  }
}

async function send(method, path, { body, bearer, proof, key, version, apiKey }) {
  const url = new URL(path, document.baseURI);
  if (apiKey) url.searchParams.set("key", apiKey);
  // Header fields allow only some characters. A secret with others is not one of Concord's.
  if ([bearer, proof].some((secret) => secret && !/^[\w.~+/=-]+$/.test(secret))) throw new Problem("code-unusable");
  const headers = { "Accept-Language": language, "X-Firebase-Locale": language };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (proof) headers["Concord-Proof"] = proof;
  if (body) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  if (version) headers["If-Match"] = version;
  let response;
  let text;
  try {
    response = await fetch(url, {
      method,
      headers,
      body: body && JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(callTimeout),
    });
    text = await response.text();
  } catch {
    throw new Problem("offline");
  }
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    // A proxy answers with a page, and with any status.
    throw new Problem("unavailable");
  }
  if (response.ok) return { content, version: response.headers.get("ETag") };
  throw failure(content, response);
}

function failure(content, response) {
  const wait = Number(response.headers.get("Retry-After")) || null;
  const type = String(content.type ?? "");
  if (type.startsWith(namespace)) return new Problem(type.slice(namespace.length), content, wait);
  if (response.status >= 500) return new Problem("unavailable", content, wait);
  const message = String(content.error?.message ?? "");
  const [code] = message.split(" : ");
  if (!/^[A-Z_]+$/.test(code)) return new Problem("internal-error", content, wait);
  const known = namesByText[message] ?? names[code];
  return new Problem(known ?? code.toLowerCase().replaceAll("_", "-"), content.error, wait);
}

// An Idempotency-Key, or another value that nobody guesses. `randomUUID` would need HTTPS.
export function randomText() {
  return base64URL(crypto.getRandomValues(new Uint8Array(32)));
}

// The challenge of a verifier (RFC 7636 §4.2). Browsers compute it on HTTPS pages and on this machine only.
export async function challengeOf(verifier) {
  if (!crypto.subtle) throw new Problem("insecure-page");
  return base64URL(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function base64URL(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// The claims of an ID token. The service has checked them.
export function claims(idToken) {
  const [, content] = idToken.split(".");
  const bytes = Uint8Array.from(atob(content.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

// The session of a person, from the answer to a sign-in, or from a refresh token alone.
export class Session {
  #idToken;
  #renewAt;
  #renewing = null;

  constructor(apiKey, { idToken = null, refreshToken, expiresIn = 0 }) {
    this.apiKey = apiKey;
    this.#take(idToken, refreshToken, expiresIn);
  }

  #take(idToken, refreshToken, expiresIn) {
    this.#idToken = idToken;
    this.refreshToken = refreshToken;
    this.#renewAt = Date.now() + (Number(expiresIn) - renewal) * 1000;
  }

  // An ID token that is valid for a minute at least. Calls at the same time share one refresh.
  async idToken() {
    if (this.#idToken && Date.now() < this.#renewAt) return this.#idToken;
    this.#renewing ??= this.renew().finally(() => (this.#renewing = null));
    await this.#renewing;
    return this.#idToken;
  }

  // Gets a new ID token. `more` are members of the request, such as `returnDeviceToken`. Returns the answer.
  async renew(more = {}) {
    const body = { grantType: "refresh_token", refreshToken: this.refreshToken, ...more };
    const renewed = await call("POST", "v1/token", { apiKey: this.apiKey, body });
    this.#take(renewed.id_token, renewed.refresh_token, renewed.expires_in);
    return renewed;
  }

  // Takes the tokens of an answer that has some, such as that of a change of the account.
  adopt({ idToken, refreshToken, expiresIn }) {
    if (idToken) this.#take(idToken, refreshToken ?? this.refreshToken, expiresIn ?? 3600);
  }

  // Signs out of this session alone.
  async end() {
    const { concord } = claims(await this.idToken());
    await this.call("DELETE", `concord/v1/account/sessions/${concord.session}`, { key: randomText() });
  }

  // Calls as the function `call` does, with the ID token as bearer.
  async call(method, path, options = {}) {
    return (await this.answer(method, path, options)).content;
  }

  async answer(method, path, options = {}) {
    return answer(method, path, { ...options, bearer: await this.idToken() });
  }
}

// The accounts that this browser remembers, newest first: { email, method, deviceToken }. Without local storage, there
// are none, and nothing fails.
export function accounts() {
  try {
    const stored = JSON.parse(localStorage.getItem(remembered)) ?? [];
    return stored.filter((account) => typeof account?.email === "string").slice(0, rememberedMax);
  } catch {
    return [];
  }
}

export function account(email) {
  return accounts().find((known) => same(known.email, email)) ?? null;
}

// Remembers that the person signed in to `email` by `method`. The earlier device token stays without a new one.
export function remember({ email, method, deviceToken }) {
  const known = account(email);
  store([
    {
      email,
      method: method ?? known?.method,
      deviceToken: deviceToken ?? known?.deviceToken,
    },
    ...accounts().filter((other) => !same(other.email, email)),
  ]);
}

// Forgets one account, or all of them.
export function forget(email = null) {
  store(email === null ? [] : accounts().filter((known) => !same(known.email, email)));
}

const same = (one, other) => one.toLowerCase() === String(other).toLowerCase();

function store(list) {
  try {
    if (list.length === 0) localStorage.removeItem(remembered);
    else localStorage.setItem(remembered, JSON.stringify(list.slice(0, rememberedMax)));
  } catch {
    // The person has disabled storage.
  }
}

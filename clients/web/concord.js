// Documented in concord.d.ts.

export const version = "0.1.0";

export class ConcordError extends Error {
  constructor(code, details = {}, more) {
    super(details.title ?? details.message ?? code);
    Object.assign(this, { name: "ConcordError", code, details, email: details.email, type: details.type }, more);
  }
}

const given = (members) => Object.entries(members).filter(([, value]) => value);

const queryOf = (members) => new URLSearchParams(given(members));

function serverURL(text) {
  const { origin, pathname } = new URL(text);
  if (!/^(https:|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:|$))/.test(origin)) throw new ConcordError("insecure-url");
  return origin + pathname.replace(/\/+$/, "");
}

const encode = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function decode(text) {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))));
}

export function claims(idToken) {
  try {
    return decode(idToken.split(".")[1]);
  } catch {
    throw new ConcordError("invalid-answer");
  }
}

const random = () => encode(crypto.getRandomValues(new Uint8Array(32)));

async function digest(text) {
  if (!crypto.subtle) throw new ConcordError("operation-not-supported-in-this-environment");
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function stored(storage, key, value) {
  try {
    if (value === undefined) return JSON.parse(globalThis[storage].getItem(key));
    globalThis[storage].setItem(key, JSON.stringify(value));
  } catch {
    return null;
  }
}

const here = () => location.href.replace(/#.*/, "");

export class Concord {
  #options;
  #key;
  #session;

  constructor(options) {
    this.url = serverURL(options.url);
    this.#options = options;
    this.#key = `concord:${this.url}:${options.apiKey}`;
    this.#session = stored(options.storage, this.#key);
  }

  async call(method, path, { body, query, bearer, key, headers } = {}) {
    const send = async () => {
      const response = await fetch(`${this.url}/${path}?${queryOf({ ...query, key: this.#options.apiKey })}`, {
        method,
        headers: given({
          "Content-Type": "application/json",
          "X-Firebase-Locale": this.#options.language,
          Authorization: bearer && `Bearer ${bearer}`,
          "Idempotency-Key": key,
          ...headers,
        }),
        body: JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.timeout(30_000),
      });
      return [response, Object.defineProperty(await response.json(), "headers", { value: response.headers })];
    };
    const [{ ok, status }, answer] = await send()
      .catch((error) => (key || method === "GET" ? send() : Promise.reject(error)))
      .catch((error) => {
        throw new ConcordError(error.name === "SyntaxError" ? "invalid-answer" : "network-request-failed");
      });
    const { error = answer, errorMessage, pendingToken, email, providerId, type } = answer;
    const code =
      (answer.needConfirmation && "account-exists-with-different-credential") ||
      (answer.mfaPendingCredential && "second-factor-required") ||
      (errorMessage ?? error.message)?.split(" : ")[0].toLowerCase().replaceAll("_", "-") ||
      (!ok && (type?.split(":").at(-1) ?? "invalid-answer"));
    if (code) {
      const conflict = pendingToken && { handle: pendingToken, email, providerId };
      throw new ConcordError(code, error, { status, conflict, headers: answer.headers });
    }
    if (answer.deviceToken) stored("localStorage", `${this.#key}:device`, answer.deviceToken);
    if (answer.idToken) this.#begin(answer);
    return answer;
  }

  #begin({ idToken, refreshToken, expiresIn }) {
    const { sub: uid, aud } = claims(idToken);
    if (aud !== (this.#options.projectId ?? aud)) throw new ConcordError("invalid-answer");
    this.#session = { uid, refreshToken, idToken, end: Date.now() + (expiresIn - 300) * 1000 };
    stored(this.#options.storage, this.#key, { uid, refreshToken });
  }

  get uid() {
    return this.#session?.uid;
  }

  get #device() {
    return { returnDeviceToken: true, deviceToken: stored("localStorage", `${this.#key}:device`) };
  }

  async idToken(isForced) {
    if (this.#options.idToken) return this.#options.idToken(isForced);
    const session = this.#session;
    if (!session) throw new ConcordError("no-session");
    if (!isForced && Date.now() < session.end) return session.idToken;
    return (session.renewal ??= this.#renew(session).finally(() => delete session.renewal));
  }

  async #renew(session) {
    const body = { grantType: "refresh_token", refreshToken: session.refreshToken };
    const answer = await this.call("POST", "v1/token", { body, key: random() }).catch((error) => {
      if (this.#session === session && /refresh-token|token-expired|user-/.test(error.code)) this.signOut();
      throw error;
    });
    const idToken = answer.id_token;
    // A sign-out meanwhile wins.
    if (this.#session !== session || claims(idToken).sub !== session.uid) throw new ConcordError("no-session");
    Object.assign(session, { idToken, end: Date.now() + (answer.expires_in - 300) * 1000 });
    return idToken;
  }

  signOut() {
    const { storage } = this.#options;
    if (stored(storage, this.#key)?.uid === this.uid) stored(storage, this.#key, null);
    this.#session = null;
  }

  async signIn(path, members) {
    const answer = await this.call("POST", path, { body: { ...this.#device, ...members } });
    if (!answer.idToken && !answer.asksFirst) throw new ConcordError("invalid-answer");
    return answer;
  }

  #request(providerId, authType, options) {
    const { apiKey, language } = this.#options;
    return { apiKey, hl: language, providerId, authType, ...options };
  }

  #settle({ urlResponse, postBody, sessionId, error }, body) {
    if (error) throw new ConcordError(error.code.replace("auth/", ""), error);
    const event = { requestUri: urlResponse, postBody, sessionId, returnIdpCredential: true };
    return this.signIn("v1/accounts:signInWithIdp", { ...event, ...body });
  }

  async signInWithPopup(providerId, { body, ...options } = {}) {
    const request = this.#request(providerId, "signInViaPopup", { eventId: random(), ...options });
    let timer;
    const event = await new Promise((resolve, reject) => {
      openPopup(this.url, request, resolve).then((popup) => {
        timer = setInterval(() => popup.closed && reject(new ConcordError("popup-closed-by-user")), 500);
      }, reject);
    }).finally(() => clearInterval(timer));
    return this.#settle(event, body);
  }

  signInWithRedirect(providerId, { body, ...options } = {}) {
    return leave(this.url, this.#request(providerId, "signInViaRedirect", options), { owner: this.#key, body });
  }

  async redirectResult() {
    const event = returned(this.#key);
    return event && this.#settle(event, event.body);
  }

  async openPage(page, { handle = "", continueUrl = here(), ...more } = {}) {
    const [state, codeVerifier] = [random(), random()];
    const codeChallenge = encode(await digest(codeVerifier));
    stored("localStorage", `${this.#key}:page`, { state, codeVerifier });
    location.assign(`${this.url}/${page}#${handle}&${queryOf({ continueUrl, state, codeChallenge, ...more })}`);
  }

  async pageResult() {
    const query = Object.fromEntries(new URLSearchParams(location.search));
    const { state, concordCode: code, concordConflict: outcome } = query;
    if (!code && !outcome) return null;
    history.replaceState(history.state, "", location.pathname);
    const begun = stored("localStorage", `${this.#key}:page`);
    if (!state || begun?.state !== state) throw new ConcordError("invalid-state");
    stored("localStorage", `${this.#key}:page`, null);
    const { codeVerifier } = begun;
    return { outcome, ...(code && (await this.exchangeSession({ code, codeVerifier }, { key: state }))) };
  }

  static {
    // `*` takes an id, `#` a handle, `@` the session; `+` adds the device; `!` is sent once.
    for (const line of `about GET about
signInPage GET signIn
reauthenticationPolicy GET reauthentication-policy
decision GET decisions/*
exchangeShortCode POST shortCode:exchange !
disownAccount POST emailCode:disown
readConflict GET conflict #
startProof POST conflict/proof #
completeProof POST conflict/proof:complete #
resolveConflict POST conflict:resolve +#
declineConflict POST conflict:decline #
setReturn POST conflict/return #
issueConflictCode POST conflict/return:issueCode #
issueSignInCode POST signIn/return:issueCode
exchangeSession POST session:exchange +
lookup POST lookup +!
proveLookup POST lookup:prove !
continueLookup POST lookup:continue +
proveSignUp POST signUp/pending:prove !#
createAccount POST signUp/pending:create +#
linkSignUp POST signUp/pending:link #
methods GET account/methods @
removeMethod DELETE account/methods/* @
sessions GET account/sessions @
endSessions DELETE account/sessions @
endSession DELETE account/sessions/* @
revokeDevice DELETE account/devices/* @
suspendedMethods GET account/quarantine @
restorePassword POST account/quarantine/password:restore @
discardSuspended DELETE account/quarantine/* @
events GET account/events @
exportData GET account/export @
merges GET account/merges @
readMerge GET merges/* @
merge POST merges @
undoMerge POST account/merges/*:undo !@`.split("\n")) {
      const [name, method, route, marks = ""] = line.split(" ");
      const has = (mark) => marks.includes(mark);
      this.prototype[name] = async function (...values) {
        const bearer = has("@") ? await this.idToken() : has("#") && values.shift();
        const path = route.replace("*", () => encodeURIComponent(values.shift()));
        const [members, options] = values;
        const body = { ...(has("+") && this.#device), ...members };
        const request = method === "POST" ? { body } : { query: members };
        const key = method !== "GET" && !has("!") && random();
        return this.call(method, `concord/v1/${path}`, { ...request, bearer, key, ...options });
      };
    }
  }
}

function handlerURL(server, { customParameters, ...more }) {
  const query = queryOf({ ...more, customParameters: JSON.stringify(customParameters), redirectUrl: here() });
  return `${server}/__/auth/handler?${query}`;
}

async function openPopup(server, request, receive) {
  const { eventId } = request;
  const popup = open(handlerURL(server, { ...request, receiver: "opener" }), eventId, "popup,width=500,height=600");
  if (!popup) throw new ConcordError("popup-blocked");
  addEventListener("message", function take({ source, origin, data, ports }) {
    if (source !== popup || origin !== new URL(server).origin || data.event?.eventId !== eventId) return;
    removeEventListener("message", take);
    ports[0].postMessage("received");
    receive(data.event);
  });
  return popup;
}

async function leave(server, request, more) {
  const [eventId, secret] = [random(), random()];
  const sessionId = [...(await digest(secret))].map((byte) => (byte + 256).toString(16).slice(1)).join("");
  stored("sessionStorage", "concord:redirect", { id: eventId, sessionId: secret, hash: location.hash, ...more });
  location.assign(handlerURL(server, { ...request, eventId, sessionId, receiver: "fragment" }));
}

let trip = stored("sessionStorage", "concord:redirect");
stored("sessionStorage", "concord:redirect", null);
let [, arrival] = /^#concordEvent=(.*)/.exec(globalThis.location?.hash) ?? [];
if (arrival) history.replaceState(history.state, "", here() + (trip?.hash ?? ""));

// Null if `owner` began no redirect.
function returned(owner) {
  if (trip ? trip.owner !== owner : !arrival) return null;
  const [begun, text] = [trip, arrival];
  trip = arrival = null;
  if (!text) return { error: { code: "redirect-cancelled-by-user" } };
  try {
    const event = decode(text);
    if (event.eventId === begun.id) return { ...event, eventId: null, ...begun };
  } catch {}
  return { error: { code: "invalid-auth-event" } };
}

const failure = (auth, { code }) => auth._errorFactory.create(code.replace("auth/", ""), { appName: auth.name });

const rethrow = (auth) => (error) => Promise.reject(failure(auth, error));

const requestOf = (auth, provider, authType) => ({
  apiKey: auth.config.apiKey,
  appName: auth.name,
  authType,
  providerId: provider.providerId,
  scopes: provider.getScopes?.(),
  customParameters: provider.getCustomParameters(),
  tid: auth.tenantId,
  hl: auth.languageCode,
});

const serverOf = ({ config }) => `${config.apiScheme}://${config.apiHost}`;

function deliver(auth, consumer, event) {
  if (event.error) consumer?.onError(failure(auth, event.error));
  else consumer?.onAuthEvent(event);
}

export const ConcordPopupRedirectResolver = (Base) => class extends Base {
  #consumers = new Map();

  constructor() {
    super();
    const complete = this._completeRedirectFn;
    this._completeRedirectFn = (auth, _, bypass) => {
      // Begun in another tab: an error, not null.
      if (arrival && !trip) {
        const error = failure(auth, returned().error);
        this._overrideRedirectResult(auth, () => Promise.reject(error));
      }
      return complete(auth, undefined, bypass);
    };
  }

  async _initialize(auth) {
    const registerConsumer = (consumer) => {
      this.#consumers.set(consumer.eventId, consumer);
      if (!consumer.filter.includes("signInViaRedirect")) return;
      deliver(auth, consumer, returned(auth._key()) ?? { error: { code: "redirect-cancelled-by-user" } });
    };
    return { registerConsumer, unregisterConsumer: (consumer) => this.#consumers.delete(consumer.eventId) };
  }

  async _openPopup(auth, provider, authType, eventId) {
    const receive = (event) => deliver(auth, this.#consumers.get(eventId), event);
    const request = { ...requestOf(auth, provider, authType), eventId };
    const window = await openPopup(serverOf(auth), request, receive).catch(rethrow(auth));
    return { window, close: () => window.close() };
  }

  async _openRedirect(auth, provider, authType, eventId) {
    await this._originValidation(auth);
    const request = requestOf(auth, provider, authType);
    await leave(serverOf(auth), request, { owner: auth._key(), eventId }).catch(rethrow(auth));
    return new Promise(() => {});
  }

  _isIframeWebStorageSupported() {}
};

export function connect(auth, url) {
  const [apiScheme, apiHost] = serverURL(url).split("://");
  if (auth._canInitEmulator === false) throw new ConcordError("already-started");
  Object.assign(auth.config, { apiHost, apiScheme, tokenApiHost: apiHost, authDomain: apiHost, emulator: null });
  const resolver = auth._popupRedirectResolver;
  if (resolver) auth._popupRedirectResolver = new (ConcordPopupRedirectResolver(resolver.constructor))();
}

// The page between an app and a provider. It runs twice in one window: an app opens it to start a sign-in, and the
// provider sends the browser back to it. It never sees a token of Concord: the answer of the provider goes to the app's
// SDK, which presents it with the session id.
//
// Between the two runs, the session storage of this window holds the request of the app. An answer that was not
// requested in this window finds no request and is dropped.

import { app, preferredLanguage, spaced } from "./common.js";
import { appAddress, isApp } from "./native.js";

const kept = "concord:sign-in";
const callTimeout = 15_000;
// Milliseconds that the app's page, or the frame in it, has to acknowledge the answer.
const receiptTimeout = 3_000;

const query = new URLSearchParams(location.search);
// Frames of a challenge may add entries to the history.
const entriesAtStart = history.length;
// The requester of the sign-in, once it is authorized to receive the result.
let receiver = null;
const strings = await (await fetch(new URL("handler.json", import.meta.url))).json();

// The failure that an app receives, with an error code of its SDK.
class Failure extends Error {
  constructor(text, code) {
    super(text);
    this.text = text;
    this.code = code;
  }
}

// The API

async function call(method, path, parameters, body) {
  const url = new URL(`../../${path}`, import.meta.url);
  for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value);
  let answer;
  try {
    const response = await fetch(url, {
      method,
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body && JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(callTimeout),
    });
    answer = await response.json();
  } catch {
    throw new Failure("offline", "auth/network-request-failed");
  }
  if (answer.error) throw failure(String(answer.error.message).split(" : ")[0]);
  return answer;
}

function failure(code) {
  switch (code) {
    case "INVALID_APP_ID":
    case "INVALID_CERT_HASH":
    case "INVALID_OAUTH_CLIENT_ID":
      return new Failure("unknown-app", "auth/app-not-authorized");
    case "UNAUTHORIZED_DOMAIN":
      return new Failure("unauthorized-domain", "auth/unauthorized-domain");
    case "OPERATION_NOT_ALLOWED":
    case "INVALID_PROVIDER_ID":
      return new Failure("provider", "auth/operation-not-allowed");
    case "API key not valid. Please pass a valid API key.":
      return new Failure("bad-request", "auth/invalid-api-key");
    default:
      return new Failure("provider", "auth/internal-error");
  }
}

// Start

// The request of the app, from the address.
function requested() {
  const request = {};
  for (const name of [
    "apiKey", "appName", "authType", "eventId", "providerId", "redirectUrl", "scopes", "customParameters", "sessionId",
    "appId", "clientId", "ibi", "apn", "sha1Cert", "tid", "tenantId", "hl", "receiver", "loopback",
  ]) {
    if (query.get(name)) request[name] = query.get(name);
  }
  return request;
}

async function begin(request) {
  const config = await call("GET", "v1/projects", {
    key: request.apiKey,
    iosBundleId: request.ibi,
    androidPackageName: request.apn,
    sha1Cert: request.sha1Cert,
    firebaseAppId: request.appId,
    clientId: request.clientId,
    concordDestination: request.redirectUrl,
    concordLoopback: isNative(request) ? request.loopback : undefined,
  });
  check(request, config.concordAuthorized === true);
  receiver = request;
  if (isVerification(request)) return verify(request);
  const begun = await call("POST", "v1/accounts:createAuthUri", { key: request.apiKey }, {
    providerId: request.providerId,
    continueUri: location.origin + location.pathname,
    oauthScope: request.scopes?.split(",").join(" "),
    customParameter: parameters(request.customParameters),
    // These apps keep the session id to themselves and send its digest here.
    sessionIdDigest: keepsSessionID(request) ? request.sessionId : undefined,
    // The provider must ask for credentials and not use an existing session.
    reauthenticate: isReauthentication(request) || undefined,
    tenantId: request.tid ?? request.tenantId,
  });
  const own = !keepsSessionID(request) && { sessionId: begun.sessionId };
  sessionStorage.setItem(kept, JSON.stringify({ ...request, ...own }));
  location.replace(begun.authUri);
}

const isVerification = (request) => request.authType === "verifyApp";
// Concord's own pages ask for a challenge too. They are no app.
const isOwn = (request) => isVerification(request) && Boolean(request.redirectUrl) && !isApp(request);
const isNative = (request) => request.authType === "signInWithRedirect" || (isVerification(request) && !isOwn(request));
const isPopup = (request) => /^(signIn|link|reauth)ViaPopup$/.test(request.authType);
const isReauthentication = (request) => /^reauthVia(Popup|Redirect)$/.test(request.authType);
const isRedirect = (request) => /^(signIn|link|reauth)ViaRedirect$/.test(request.authType);
// A page that receives without Concord's frame: a popup's opener by a message, a redirect's page behind its `#`.
const receivesItself = (request) => request.receiver === (isPopup(request) ? "opener" : "fragment");
const keepsSessionID = (request) => isNative(request) || (isRedirect(request) && receivesItself(request));

// Checks the recipient of the answer before the person signs in.
function check(request, isAuthorized) {
  if (isNative(request)) {
    if (!isApp(request) || !(request.sessionId || isVerification(request))) {
      throw new Failure("bad-request", "auth/argument-error");
    }
    // Any program can listen on a port: the project must allow such apps.
    if (request.loopback && !isAuthorized) throw new Failure("unauthorized-domain", "auth/unauthorized-domain");
    return;
  }
  if (isOwn(request)) {
    // The token is for this service, so it stays on this origin.
    if (!request.appName || !request.eventId) throw new Failure("bad-request", "auth/argument-error");
    if (!isOfOneOrigin(request.redirectUrl, location.href)) throw new Failure("unauthorized-domain", "auth/unauthorized-domain");
    return;
  }
  if (!isPopup(request) && !isRedirect(request)) throw new Failure("bad-request", "auth/argument-error");
  if (request.receiver && !receivesItself(request)) throw new Failure("bad-request", "auth/argument-error");
  if (!(request.appName || request.receiver) || !request.redirectUrl) {
    throw new Failure("bad-request", "auth/argument-error");
  }
  if (keepsSessionID(request) && !request.sessionId) throw new Failure("bad-request", "auth/argument-error");
  if (!isAuthorized) throw new Failure("unauthorized-domain", "auth/unauthorized-domain");
  // An open redirect of the app would pass the fragment on to another site. So only a page of the same origin may ask for
  // it, which the referrer shows: a redirect keeps the referrer of its start.
  if (keepsSessionID(request) && !isOfOneOrigin(document.referrer, request.redirectUrl)) {
    throw new Failure("unauthorized-domain", "auth/unauthorized-domain");
  }
  if (isPopup(request) && !window.opener) throw new Failure("no-receiver", "auth/popup-blocked");
}

function isOfOneOrigin(address, other) {
  try {
    return new URL(address).origin === new URL(other).origin;
  } catch {
    return false;
  }
}

function parameters(text) {
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure("bad-request", "auth/argument-error");
  }
}

// App verification

// This page may not load scripts of other origins. The page at `challenge` is the same, and may load the challenge
// script.
async function verify(request) {
  if (!location.pathname.endsWith("/challenge")) return location.replace(`challenge${location.search}`);
  // A repetition would only return here: the requesting page did not go back far enough.
  if (isOwn(request) && isDelivered(request)) return history.back();
  const { concordChallenge, recaptchaSiteKey } = await call("GET", "v1/recaptchaParams", { key: request.apiKey });
  if (!concordChallenge) throw new Failure("challenge", "auth/operation-not-allowed");
  const { scriptUrl } = concordChallenge;
  const recaptchaToken = scriptUrl ? await solve(scriptUrl, recaptchaSiteKey) : "made-up";
  return deliver(request, { recaptchaToken, error: null });
}

// The token of a solved challenge, usually without interaction (developers.google.com/recaptcha, "Invisible
// reCAPTCHA"). hCaptcha and Turnstile have the same interface.
function solve(address, sitekey) {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Failure("challenge", "auth/network-request-failed"));
    const timer = setTimeout(fail, callTimeout);
    window.concordChallenge = () => {
      clearTimeout(timer);
      const place = document.createElement("div");
      document.querySelector("main").append(place);
      const settings = { sitekey, size: "invisible", callback: resolve, "error-callback": fail, "expired-callback": fail };
      window.grecaptcha.execute(window.grecaptcha.render(place, settings));
    };
    const script = document.createElement("script");
    const url = new URL(address);
    url.searchParams.set("render", "explicit");
    url.searchParams.set("onload", "concordChallenge");
    url.searchParams.set("hl", document.documentElement.lang);
    script.src = url;
    script.onerror = fail;
    document.head.append(script);
  });
}

// Return

function finish(posted) {
  const request = JSON.parse(sessionStorage.getItem(kept) ?? "null");
  if (!request) throw new Failure("not-begun");
  sessionStorage.removeItem(kept);
  receiver = request;
  const urlResponse = posted === null ? location.href : location.href.replace(/#.*/, "");
  // No code or token stays in the history of the browser.
  history.replaceState(null, "", location.pathname);
  return deliver(request, { urlResponse, postBody: posted, sessionId: request.sessionId, error: null });
}

async function deliver(request, outcome) {
  const event = {
    type: request.authType,
    eventId: request.eventId ?? null,
    tenantId: request.tid ?? request.tenantId ?? null,
    urlResponse: null,
    sessionId: null,
    postBody: null,
    ...outcome,
  };
  // The requesting page goes back to its entry.
  if (isOwn(request)) event.addedEntries = history.length - entriesAtStart;
  if (isNative(request)) {
    const address = appAddress(request, event);
    // Some browsers open another app only after a click.
    say("return", address);
    location.replace(address);
  } else if (isPopup(request)) {
    await hand(event, request);
    say("done");
    window.close();
  } else if (receivesItself(request)) {
    location.replace(pageWithEvent(request.redirectUrl, event));
  } else {
    // The frame in the app's page, of this origin, finds it here.
    sessionStorage.setItem(eventKey(request), JSON.stringify(event));
    location.replace(request.redirectUrl);
  }
}

const eventKey = ({ apiKey, appName }) => `firebase:redirectEvent:${apiKey}:${appName}`;

// True if the answer to the request waits for its page already.
function isDelivered(request) {
  return JSON.parse(sessionStorage.getItem(eventKey(request)) ?? "null")?.eventId === request.eventId;
}

// The app's page with the event behind its `#`. The session id is not in it: the app's page has kept it.
function pageWithEvent(page, event) {
  const url = new URL(page);
  const bytes = new TextEncoder().encode(JSON.stringify({ ...event, sessionId: null }));
  const encoded = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  url.hash = `concordEvent=${encoded.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  return url.href;
}

// Sends the answer to the page that opened this window, or to Concord's frame in it, and waits for the receipt. The
// browser delivers the message to one origin only: the authorized one of the page, or this one.
function hand(event, request) {
  const isOpener = receivesItself(request);
  const target = isOpener ? window.opener : ownFrame(request);
  // A provider's page whose opener policy differs has separated the windows.
  if (!target) throw new Failure("no-receiver");
  const channel = new MessageChannel();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Failure("no-receiver")), receiptTimeout);
    channel.port1.onmessage = () => {
      clearTimeout(timer);
      resolve();
    };
    const forFrame = {
      eventType: "sendAuthEvent",
      eventId: event.eventId,
      data: { authEvent: event, storageKey: `${request.apiKey}:${request.appName}` },
    };
    target.postMessage(
      isOpener ? { type: "concord:auth-event", event } : forFrame,
      isOpener ? new URL(request.redirectUrl).origin : location.origin,
      [channel.port2],
    );
  });
}

function ownFrame(request) {
  const frames = window.opener?.frames ?? [];
  for (let index = 0; index < frames.length; index += 1) {
    try {
      const search = new URLSearchParams(frames[index].location.search);
      if (search.get("apiKey") === request.apiKey && search.get("appName") === request.appName) return frames[index];
    } catch {
      // A frame of another origin.
    }
  }
  return null;
}

// Display

function text(name, language) {
  return spaced(strings[language][name], language).replaceAll("{app}", () => app ?? strings[language].app);
}

function say(name, address) {
  const language = preferredLanguage([query.get("hl"), ...navigator.languages], Object.keys(strings));
  document.documentElement.lang = language;
  const isBusy = name === "busy";
  document.querySelector("main").setAttribute("aria-busy", isBusy);
  const paragraph = document.createElement("p");
  paragraph.setAttribute("role", "status");
  paragraph.textContent = text(name, language);
  const heading = document.createElement("h1");
  heading.textContent = strings[language].title;
  if (address) {
    const link = document.createElement("a");
    link.href = address;
    link.textContent = text(name, language);
    paragraph.replaceChildren(link);
  }
  const isFailure = !["busy", "done", "return"].includes(name);
  document.getElementById("step").replaceChildren(...(isFailure ? [heading, paragraph] : [paragraph]));
}

// Shows the failure to the person, and reports it to the app if the app is authorized.
async function fail(error) {
  const known = error instanceof Failure ? error : new Failure("bad-request", "auth/internal-error");
  say(known.text);
  if (!receiver || !known.code || known.text === "no-receiver") return;
  try {
    await deliver(receiver, { error: { code: known.code, message: text(known.text, "en") } });
  } catch {
    say(known.text);
  }
}

// A stored page would not run again.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});
document.getElementById("host").textContent = location.host;
say("busy");
// If a provider posts its answer, the server redirects here with the answer after the `#`.
const posted = location.hash.startsWith("#post=") ? decodeURIComponent(location.hash.slice("#post=".length)) : null;
const request = requested();
try {
  if (request.authType || request.apiKey) {
    if (!request.apiKey || !(request.providerId || isVerification(request))) throw new Failure("bad-request");
    await begin(request);
  } else {
    await finish(posted);
  }
} catch (error) {
  await fail(error);
}

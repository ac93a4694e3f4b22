// The account page gets its sessions from the sign-in page, in this tab or in another one.
//
// A trip leaves in this tab. The session storage has its state, its verifier and the change that waits for a newer
// sign-in: names only, no secret of the account. The page removes it on return. A history entry ends with its page, so
// the trip returns with another session of the same account.
//
// An errand runs in another tab, so that this one does not lose its session: the sign-in to another account, and the
// provider's page. The other tab returns to the account page, finds that it did not begin the errand, and passes the
// answer to the tabs of this origin. Only the tab with the verifier can use a code.

import { accounts, accountTripKey, call, challengeOf, Problem, randomText } from "./service.js";

const errandKey = "concord:account:errand";
const appName = "account";
const resendTime = 1_000;
// Number of messages after which the person learns that no tab answers, and after which the page gives up.
const resendsQuiet = 5;
const resendsMax = 300;

// The address of this page, without what stands behind it.
export const page = location.origin + location.pathname;

// Session storage

function store(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    throw new Problem("no-storage");
  }
}

function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

function remove(key) {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // Nothing is stored.
  }
}

function take(key) {
  const value = read(key);
  remove(key);
  return value;
}

// Trips in this tab

// The address of the sign-in page that returns here, with the state and the verifier of the return.
async function signInPage(fields) {
  const state = randomText();
  const verifier = randomText();
  const codeChallenge = await challengeOf(verifier);
  const parameters = new URLSearchParams({ continueUrl: page, state, codeChallenge, ...fields });
  return { address: new URL(`signin#${parameters}`, document.baseURI).href, state, verifier };
}

// Leaves for the sign-in page. `trip` has names that the page needs on return.
export async function leave(fields, trip, { replacesEntry = false } = {}) {
  const { address, state, verifier } = await signInPage(fields);
  store(accountTripKey, { ...trip, state, verifier });
  if (replacesEntry) location.replace(address);
  else location.assign(address);
}

// The session that the code of a return stands for. The sign-in page has just remembered its account first. With the
// token, this browser stays one device of that account; the service ignores the token of another account.
export function exchange(code, verifier) {
  const [latest] = accounts();
  const body = { code, codeVerifier: verifier, returnDeviceToken: true, deviceToken: latest?.deviceToken };
  return call("POST", "concord/v1/session:exchange", { body, key: randomText() });
}

// Returns the reason for this visit: `{ trip, code }` for a return to this tab, `{ message }` for the answer of an errand
// of another tab, `{ isForeign: true }` for a code that no tab may use, or `{}`.
export function arrival() {
  const query = new URLSearchParams(location.search);
  const code = query.get("concordCode");
  const state = query.get("state");
  if (code) {
    history.replaceState(history.state, "", location.pathname);
    const trip = read(accountTripKey);
    if (trip && trip.state === state) return { trip: take(accountTripKey), code };
    return state ? { message: { state, code } } : { isForeign: true };
  }
  const event = redirectEvent();
  if (event) return { message: { state: event.eventId, event } };
  // A trip that the person broke off.
  remove(accountTripKey);
  return {};
}

// The answer of a provider's page, which the handler page leaves in this tab.
function redirectEvent() {
  try {
    const key = Object.keys(sessionStorage)
      .find((name) => name.startsWith("firebase:redirectEvent:") && name.endsWith(`:${appName}`));
    return key ? take(key) : null;
  } catch {
    return null;
  }
}

// Errands in another tab

const channel = new BroadcastChannel("concord:account");

// Prepares a sign-in in another tab, so that the press of the button opens it at once: browsers block tabs that open
// later.
export async function prepareSignIn(purpose, fields) {
  const { address, state, verifier } = await signInPage(fields);
  return { address, record: { purpose, state, verifier } };
}

// Prepares the page of a provider, whose answer links the provider to the account `user`.
export function prepareProvider(method, user, apiKey, language) {
  const { address, state } = handlerPage({ apiKey, authType: "linkViaRedirect", hl: language, providerId: method });
  return { address, record: { purpose: "link", state, method, user } };
}

// Prepares the page of a challenge. The token of its answer belongs to one text, which the account `user` asks for.
export function prepareChallenge(user, apiKey, language) {
  const { address, state } = handlerPage({ apiKey, authType: "verifyApp", hl: language });
  return { address, record: { purpose: "text", state, user } };
}

// The address of the handler page that returns here, with the state of the return.
function handlerPage(fields) {
  const state = randomText();
  const parameters = new URLSearchParams({ appName, eventId: state, redirectUrl: page, ...fields });
  return { address: new URL(`__/auth/handler?${parameters}`, document.baseURI).href, state };
}

export function open({ address, record }) {
  // The other tab gets a copy of the session storage as it is now, so the record is stored afterwards.
  remove(errandKey);
  const tab = window.open(address, "_blank");
  if (!tab) throw new Problem("tab-blocked");
  // The page of a challenge runs a third party's script on this origin. It must not reach the session of this tab.
  tab.opener = null;
  store(errandKey, record);
}

export const dropErrand = () => remove(errandKey);

// Calls `handle` with the answer of the errand of this tab, and with its record: `{ purpose, verifier, method, user,
// code, event }`.
export function onAnswer(handle) {
  channel.addEventListener("message", ({ data }) => {
    const errand = read(errandKey);
    if (!errand || !data?.state || data.state !== errand.state || !(data.code || data.event)) return;
    remove(errandKey);
    channel.postMessage({ taken: errand.state });
    handle({ ...errand, code: data.code, event: data.event });
  });
}

// Passes the answer of an errand to the tab that waits for it. Returns true if a tab has taken it. The message is
// repeated, because a browser may have to load that tab again first. Calls `onSilence` if no tab answers for a while.
export function pass(message, onSilence) {
  return new Promise((resolve) => {
    let sent = 0;
    const send = () => {
      if (sent === resendsMax) return end(false);
      sent += 1;
      if (sent === resendsQuiet) onSilence();
      channel.postMessage(message);
    };
    const timer = setInterval(send, resendTime);
    const end = (isTaken) => {
      clearInterval(timer);
      channel.removeEventListener("message", listen);
      resolve(isTaken);
    };
    const listen = ({ data }) => {
      if (data?.taken === message.state) end(true);
    };
    channel.addEventListener("message", listen);
    send();
  });
}

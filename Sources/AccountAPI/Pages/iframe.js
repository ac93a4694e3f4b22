// The frame that the SDK of a web app puts into its page. It passes the answer of a provider to that page if the page
// is on an authorized domain of the project. SDK and frame communicate through `gapi.iframes`, which both load from
// Google.
"use strict";

(() => {
  const query = new URLSearchParams(location.search);
  const storageKey = `${query.get("apiKey")}:${query.get("appName")}`;
  const stored = `firebase:redirectEvent:${storageKey}`;
  const api = new URL("../../v1/projects", document.currentScript.src);
  const nothing = { type: "unknown", error: { code: "auth/no-auth-event" } };

  // The page around this frame, once it is authorized to receive answers.
  let parent = null;
  let waiting = [];

  // The origin of the page around this frame. If the browser reports none, the page gets no answer.
  function parentOrigin() {
    if (location.ancestorOrigins?.length) return location.ancestorOrigins[0];
    try {
      return new URL(document.referrer).origin;
    } catch {
      return null;
    }
  }

  async function isAuthorized(origin) {
    if (!origin) return false;
    api.searchParams.set("key", query.get("apiKey"));
    api.searchParams.set("concordDestination", origin);
    const response = await fetch(api, { cache: "no-store", credentials: "omit" });
    return (await response.json()).concordAuthorized === true;
  }

  function send(authEvent) {
    parent.send("authEvent", { type: "authEvent", authEvent }, () => {}, gapi.iframes.CROSS_ORIGIN_IFRAMES_FILTER);
  }

  // A message from the sign-in window. Only messages of this origin are accepted.
  window.addEventListener("message", (message) => {
    if (message.origin !== location.origin || message.data?.eventType !== "sendAuthEvent") return;
    if (message.data.data?.storageKey !== storageKey) return;
    if (parent) send(message.data.data.authEvent);
    else waiting.push(message.data.data.authEvent);
    message.ports[0]?.postMessage("received");
  });

  async function start() {
    const around = gapi.iframes.getContext().getParentIframe();
    around.register(
      "webStorageSupport",
      () => ({ status: "ACK", webStorageSupport: true }),
      gapi.iframes.CROSS_ORIGIN_IFRAMES_FILTER,
    );
    if (!(await isAuthorized(parentOrigin()))) return;
    parent = around;
    const redirected = sessionStorage.getItem(stored);
    sessionStorage.removeItem(stored);
    send(redirected ? JSON.parse(redirected) : nothing);
    for (const event of waiting) send(event);
    waiting = [];
  }

  // The library calls this once it is loaded.
  window.gapi_onload = () => gapi.load("gapi.iframes", start);
})();

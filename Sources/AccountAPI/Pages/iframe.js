// The frame that a web app's SDK puts into its page: it takes what came back from a provider to the page
// around it, if that page is one of the project's. SDK and frame talk through `gapi.iframes`, a library of Google's that
// both load from Google.
"use strict";

(() => {
  const query = new URLSearchParams(location.search);
  const storageKey = `${query.get("apiKey")}:${query.get("appName")}`;
  const stored = `firebase:redirectEvent:${storageKey}`;
  const api = new URL("../../v1/projects", document.currentScript.src);
  const nothing = { type: "unknown", error: { code: "auth/no-auth-event" } };

  // The frame of the page around this one, once it is known that it may have answers.
  let parent = null;
  let waiting = [];

  // Who put this frame into a page. A browser that says neither gets no answer out of it.
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

  // From the window in which somebody signed in; only pages of this origin are heard.
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

  // The library calls this when it is there.
  window.gapi_onload = () => gapi.load("gapi.iframes", start);
})();

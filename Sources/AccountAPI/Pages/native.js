// The return from the page to a native app (docs/reference/protocol.md, "Handler and iframe").

// True if the request names one app: its port of this machine, its package or its scheme. Web addresses, scripts and
// incomplete package names are refused.
export function isApp(request) {
  if (request.loopback) {
    const isAlone = !(request.appId || request.clientId || request.ibi || request.apn || request.redirectUrl);
    return isAlone && /^[1-9]\d{0,4}$/.test(request.loopback) && Number(request.loopback) <= 65_535;
  }
  const form = request.apn ? /^\w+(\.\w+)+$/ : /^(app-[\w-]+|[\w-]+(\.[\w-]+)+)$/;
  return form.test(request.apn ?? scheme(request) ?? "");
}

// The address that opens the app with the result: a link, the token of a challenge, or an error.
export function appAddress(request, event) {
  const page = new URL("/__/auth/callback", location.origin);
  // A link has no body: the posted body goes into the query.
  const link = event.postBody ? `${event.urlResponse}${event.urlResponse.includes("?") ? "&" : "?"}${event.postBody}` : event.urlResponse;
  const said = Object.entries({
    authType: event.type,
    eventId: event.eventId,
    firebaseError: event.error && JSON.stringify(event.error),
    link,
    recaptchaToken: event.recaptchaToken,
  }).filter(([, value]) => value);
  if (request.apn) {
    return [
      "intent://firebase.auth/#Intent", "scheme=genericidp", `package=${request.apn}`,
      ...said.map(([name, value]) => `S.${name}=${encodeURIComponent(value)}`),
      "B.encryptionEnabled=false", "end;",
    ].join(";");
  }
  for (const [name, value] of said) page.searchParams.set(name, value);
  const path = `link?deep_link_id=${encodeURIComponent(page.href)}`;
  if (request.loopback) return `http://127.0.0.1:${request.loopback}/${path}`;
  const host = request.appId || request.clientId ? "firebaseauth" : "google";
  return `${scheme(request)}://${host}/${path}`;
}

// The URL scheme of an iOS app: its encoded app id, or its reversed client id, or its bundle id.
function scheme(request) {
  if (request.appId) return `app-${request.appId.replaceAll(":", "-")}`;
  if (request.clientId) return request.clientId.split(".").reverse().join(".");
  return request.ibi;
}

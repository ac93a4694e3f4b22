// The way back from the page to a native app (docs/reference/protocol.md, "Handler and iframe").

// Nothing but an app answers to these: no web address, no script, and nothing beside a package.
export function isApp(request) {
  const form = request.apn ? /^\w+(\.\w+)+$/ : /^(app-[\w-]+|[\w-]+(\.[\w-]+)+)$/;
  return form.test(request.apn ?? scheme(request) ?? "");
}

// The address that tells the app what became of what it asked for: a link, a token of a challenge, or an error.
export function appAddress(request, event) {
  const page = new URL("/__/auth/callback", location.origin);
  // A link has no body: what was posted goes on in the query.
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
  const host = request.appId || request.clientId ? "firebaseauth" : "google";
  return `${scheme(request)}://${host}/link?deep_link_id=${encodeURIComponent(page.href)}`;
}

// The scheme that an iOS app answers to: its encoded app id, or its reversed client id, or its bundle id.
function scheme(request) {
  if (request.appId) return `app-${request.appId.replaceAll(":", "-")}`;
  if (request.clientId) return request.clientId.split(".").reverse().join(".");
  return request.ibi;
}

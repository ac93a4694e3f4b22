// The consent page of a provider that is made up (`concord dev`): whoever types is who they say.

const query = new URLSearchParams(location.search);
const form = document.getElementById("user");

document.getElementById("provider").textContent = query.get("provider");
form.elements.sub.value = String(Math.floor(Math.random() * 1e12));
if (query.get("login_hint")) form.elements.email.value = query.get("login_hint");

function goBack(parameters) {
  const url = new URL(query.get("redirect_uri"));
  if (!["http:", "https:"].includes(url.protocol)) return;
  url.hash = new URLSearchParams({ ...parameters, state: query.get("state") }).toString();
  location.replace(url);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { sub, email, name, unverified } = form.elements;
  const claims = { sub: sub.value, name: name.value || undefined };
  if (email.value) Object.assign(claims, { email: email.value, email_verified: !unverified.checked });
  goBack({ id_token: JSON.stringify(claims) });
});

document.getElementById("cancel").addEventListener("click", () => goBack({ error: "access_denied" }));

// The consent page of a simulated provider (`concord dev`): it accepts any identity that the developer enters.
//
// It stores the identities in this browser, and asks Concord for the outcome before the sign-in.

const query = new URLSearchParams(location.search);
const provider = query.get("provider") ?? "";
const byId = (id) => document.getElementById(id);
const form = byId("user");
const kept = "concord:made-up-people";
const peopleMax = 10;
const callTimeout = 15_000;
// Milliseconds without typing before the page asks for the outcome.
const pause = 250;

// The forecasts, by the flag of the token: "true", "false" or "absent".
let forecasts = null;
let problem = null;
let providerName = provider;

// People

function allPeople() {
  try {
    return JSON.parse(localStorage.getItem(kept)) ?? {};
  } catch {
    // The storage is turned off, or holds something else.
    return {};
  }
}

const knownPeople = () => allPeople()[provider] ?? [];

function remember(person) {
  const others = knownPeople().filter((one) => one.sub !== person.sub);
  try {
    const people = { ...allPeople(), [provider]: [person, ...others].slice(0, peopleMax) };
    localStorage.setItem(kept, JSON.stringify(people));
  } catch {
    // The sign-in works without storage.
  }
}

function typed() {
  const { sub, email, name, photo, flag } = form.elements;
  return {
    sub: sub.value.trim(), email: email.value.trim(), name: name.value.trim(), photo: photo.value.trim(),
    flag: flag.value,
  };
}

function type(person) {
  for (const name of ["sub", "email", "name", "photo", "flag"]) form.elements[name].value = person[name] ?? "";
  forecast();
}

function entry(person) {
  const item = document.createElement("li");
  const signIn = document.createElement("button");
  signIn.type = "button";
  signIn.append(person.name || person.email || person.sub);
  for (const line of [person.email, person.sub].filter(Boolean)) {
    const part = document.createElement("span");
    part.textContent = line;
    signIn.append(part);
  }
  signIn.addEventListener("click", () => finish(person));
  const change = document.createElement("button");
  change.type = "button";
  change.textContent = "Edit";
  change.setAttribute("aria-label", `Edit ${person.name || person.email || person.sub}`);
  change.addEventListener("click", () => {
    type(person);
    form.elements.email.focus();
  });
  item.append(signIn, change);
  return item;
}

// The outcome

function claims({ sub, email, name, photo, flag }) {
  const claimed = { sub, name: name || undefined, picture: photo || undefined };
  if (email) {
    claimed.email = email;
    if (flag !== "absent") claimed.email_verified = flag === "true";
  }
  return claimed;
}

let question = 0;
async function forecast() {
  question += 1;
  const number = question;
  byId("outcome").ariaBusy = "true";
  let found = null;
  let wrong = null;
  try {
    const response = await fetch(new URL("provider/forecasts", import.meta.url), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ providerId: provider, claims: claims(typed()) }),
      signal: AbortSignal.timeout(callTimeout),
    });
    const answer = await response.json();
    if (response.ok) found = answer;
    else wrong = `Concord refuses this: ${answer.error.message}`;
  } catch {
    wrong = "Concord does not answer.";
  }
  // The developer has typed in the meantime.
  if (number !== question) return;
  forecasts = found?.forecasts ?? null;
  providerName = found?.provider ?? providerName;
  problem = wrong;
  byId("outcome").ariaBusy = "false";
  show();
}

const endings = {
  newAccount: "A new account.",
  signIn: "A sign-in to an existing account.",
  secondFactor: "The account requires its second factor.",
  conflict: "A conflict: another account has this address. The app gets auth/account-exists-with-different-credential.",
  refused: "The sign-in is refused.",
};
const inShort = {
  newAccount: "a new account", signIn: "a sign-in", secondFactor: "a second factor", conflict: "a conflict",
  refused: "a refusal",
};
const addresses = {
  proven: "Concord takes it as proof", claimed: "Concord does not take it as proof", none: "Concord ignores it",
};

function show() {
  for (const place of document.querySelectorAll("[data-provider]")) place.textContent = providerName;
  document.title = `${document.querySelector("h1").textContent} · ${location.host}`;
  byId("flags").hidden = !form.elements.email.value;
  for (const input of form.querySelectorAll("[name=flag]")) {
    const one = forecasts?.[input.value];
    input.labels[0].lastElementChild.textContent = one ? `${addresses[one.address]}: ${inShort[one.ending]}.` : "";
  }
  const chosen = forecasts?.[form.elements.flag.value];
  byId("outcome").dataset.ending = chosen?.ending ?? "";
  byId("ending").textContent = chosen ? endings[chosen.ending] : problem ?? "";
  byId("why").textContent = chosen ? `Rule ${chosen.rule}: ${chosen.text}.` : "";
}

// Return

// The tokens of the provider: three providers have no ID tokens, and Twitter's access tokens have a secret.
function tokens(token) {
  switch (provider) {
    case "twitter.com":
      return { access_token: token, oauth_token_secret: "made-up" };
    case "facebook.com":
    case "github.com":
      return { access_token: token };
    default:
      return { id_token: token, access_token: token };
  }
}

function goBack(parameters) {
  const url = new URL(query.get("redirect_uri"));
  if (!["http:", "https:"].includes(url.protocol)) return;
  url.hash = new URLSearchParams({ ...parameters, state: query.get("state") }).toString();
  location.replace(url);
}

function finish(person) {
  remember(person);
  goBack(tokens(JSON.stringify(claims(person))));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  finish(typed());
});
byId("cancel").addEventListener("click", () => goBack({ error: "access_denied" }));

let timer = null;
form.addEventListener("input", () => {
  clearTimeout(timer);
  byId("outcome").ariaBusy = "true";
  show();
  timer = setTimeout(forecast, pause);
});

const people = knownPeople();
byId("people").replaceChildren(...people.map(entry));
byId("known").hidden = people.length === 0;
const hint = query.get("login_hint");
const example = people.length === 0 ? { name: "Ada Lovelace", email: "ada@example.com" } : { name: "", email: "" };
type({
  ...example, ...(hint && { email: hint }), photo: "", sub: String(Math.floor(Math.random() * 1e12)), flag: "true",
});

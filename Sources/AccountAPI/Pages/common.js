// Functions that several pages share: languages, and steps that are built from templates.

const byId = (id) => document.getElementById(id);

// The name of the app, which the server writes into the page; null if the project has none.
export const app = document.body.dataset.app ?? null;

// Puts spaces around the name of the app in languages that write none between words.
export function spaced(pattern, language) {
  if (!app || language === "en") return pattern;
  const before = pattern.replace(/(?<=[\p{L}\p{M}])\{app\}/gu, " {app}");
  return before.replace(/\{app\}(?=[\p{L}\p{M}])/gu, "{app} ");
}

// The first wanted language that exists. Any kind of Chinese is closer than English.
export function preferredLanguage(wanted, known) {
  const primary = (tag) => String(tag ?? "").toLowerCase().split("-")[0];
  return wanted.flatMap((tag) => known.filter((one) => primary(one) === primary(tag)))[0] ?? "en";
}

// Adds a button for each language, labelled in that language. `choose` gets the tag of the pressed one.
export function offerLanguages(place, languages, choose) {
  for (const [tag, name] of Object.entries(languages)) {
    const button = document.createElement("button");
    button.type = "button";
    button.lang = tag;
    button.textContent = name;
    button.addEventListener("click", () => choose(tag));
    place.append(button);
  }
}

// Builds a step from the template `name`, without the parts whose `data-if` is false. `act` gets the `data-action` of
// the pressed button. A button with `data-shows` shows and hides the password in the field that it names.
export function build(name, holds, act) {
  const view = byId(name).content.cloneNode(true);
  view.querySelector("[data-facts]")?.replaceWith(byId("facts").content.cloneNode(true));
  for (const part of view.querySelectorAll("[data-if]")) if (!holds(part.dataset.if)) part.remove();
  for (const button of view.querySelectorAll("button[data-action]")) {
    button.addEventListener("click", () => act(button.dataset.action));
  }
  for (const form of view.querySelectorAll("form")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act(event.target.dataset.action);
    });
  }
  for (const button of view.querySelectorAll("[data-shows]")) {
    button.addEventListener("click", () => {
      const field = byId(button.dataset.shows);
      field.type = field.type === "password" ? "text" : "password";
      button.setAttribute("aria-pressed", field.type === "text");
    });
  }
  return view;
}

// Fills in all texts on the screen in `language`. `text` returns the string of a name.
export function fill(language, text, problem, status) {
  document.documentElement.lang = language;
  for (const part of byId("step").querySelectorAll("[data-text]")) part.textContent = text(part.dataset.text);
  byId("problem").textContent = problem ? text(problem) : "";
  byId("status").textContent = status ? text(status) : "";
  document.title = `${document.querySelector("h1")?.textContent ?? "…"} · ${app ?? location.host}`;
  byId("languages").setAttribute("aria-label", text("languages"));
  for (const button of byId("languages").children) button.setAttribute("aria-pressed", button.lang === language);
}

// The digits as the keyboards of all supported languages write them, without separators.
export function digits(text) {
  return text.normalize("NFKC").replace(/[๐-๙]/g, (digit) => digit.charCodeAt(0) - 0x0e50).replace(/\D/g, "");
}

// A phone number as people type it, without separators. `00` stands for `+` in most countries.
export function dialable(text) {
  const number = digits(text);
  if (text.normalize("NFKC").trim().startsWith("+")) return `+${number}`;
  return number.startsWith("00") ? `+${number.slice(2)}` : number;
}

// A maximum length below this one is named: people reach it by accident.
const longPassword = 100;

// The requirements for a new password in `language`, from the policy of the project. `strings` are of that language.
export function rules(policy, strings, language) {
  const options = policy?.customStrengthOptions;
  if (!options) return "";
  const needed = Object.entries({
    longest: options.maxPasswordLength < longPassword,
    lower: options.containsLowercaseCharacter,
    upper: options.containsUppercaseCharacter,
    digit: options.containsNumericCharacter,
    symbol: options.containsNonAlphanumericCharacter,
    common: policy.concordRefusesCommon,
  }).filter(([, isNeeded]) => isNeeded).map(([name]) => strings[`rules.${name}`]);
  const list = new Intl.ListFormat(language, { type: "conjunction" }).format([strings["rules.length"], ...needed]);
  return list.replace("{count}", options.minPasswordLength).replace("{max}", options.maxPasswordLength);
}

// `disabled` would lose the focus, so buttons become `aria-disabled`.
export function markBusy(isBusy) {
  document.querySelector("main").setAttribute("aria-busy", isBusy);
  for (const button of byId("step").querySelectorAll("button")) button.setAttribute("aria-disabled", isBusy);
}

// What several pages need: languages, and steps that are built from templates.

const byId = (id) => document.getElementById(id);

// The first that somebody wants and that there is. Any kind of Chinese is closer than English.
export function preferredLanguage(wanted, known) {
  const primary = (tag) => String(tag ?? "").toLowerCase().split("-")[0];
  return wanted.flatMap((tag) => known.filter((one) => primary(one) === primary(tag)))[0] ?? "en";
}

// A button for each language, in its own name; `choose` is told the tag of the one that is pressed.
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

// A step, from the template of its name: without the parts whose `data-if` does not hold; `act` is told the `data-action`
// of what is pressed.
export function build(name, holds, act) {
  const view = byId(name).content.cloneNode(true);
  view.querySelector("[data-facts]")?.replaceWith(byId("facts").content.cloneNode(true));
  for (const part of view.querySelectorAll("[data-if]")) if (!holds(part.dataset.if)) part.remove();
  for (const button of view.querySelectorAll("button[data-action]")) {
    button.addEventListener("click", () => act(button.dataset.action));
  }
  view.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    act(event.target.dataset.action);
  });
  return view;
}

// Says everything on the screen in `language`; `text` gives the string of a name.
export function fill(language, text, problem, status) {
  document.documentElement.lang = language;
  for (const part of byId("step").querySelectorAll("[data-text]")) part.textContent = text(part.dataset.text);
  byId("problem").textContent = problem ? text(problem) : "";
  byId("status").textContent = status ? text(status) : "";
  document.title = `${document.querySelector("h1")?.textContent ?? "…"} · ${location.host}`;
  byId("languages").setAttribute("aria-label", text("languages"));
  for (const button of byId("languages").children) button.setAttribute("aria-pressed", button.lang === language);
}

// Not `disabled`, which would throw the focus away.
export function markBusy(isBusy) {
  document.querySelector("main").setAttribute("aria-busy", isBusy);
  for (const button of byId("step").querySelectorAll("button")) button.setAttribute("aria-disabled", isBusy);
}

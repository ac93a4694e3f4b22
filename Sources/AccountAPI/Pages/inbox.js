// The inbox of `concord dev`: the messages that Concord would have sent. It polls every second while the page is
// visible.
//
// The message that the developer opened is in the address, after the `#`. A narrow window shows either the list or the
// open message.

const pause = 1000;
const byId = (id) => document.getElementById(id);
const copyLabel = "Copy code";
const kinds = { mail: "Mail", sms: "SMS" };

let messages = [];
let isAway = false;
let hasRead = false;
// The id of the open message, and its view.
let opened = location.hash.slice(1) || null;
showPart(opened ? "message" : "list");
let view = "html";

async function read() {
  try {
    const answer = await fetch(new URL("messages", import.meta.url), {
      cache: "no-store",
      signal: AbortSignal.timeout(15_000),
    });
    if (!answer.ok) throw new Error(`${answer.status}`);
    const found = (await answer.json()).messages;
    const known = new Set(messages.map((message) => message.id));
    const news = found.filter((message) => !known.has(message.id));
    const isChanged = news.length > 0 || found.length !== messages.length || !hasRead || isAway;
    const isFirst = !hasRead;
    isAway = false;
    hasRead = true;
    messages = found;
    if (isChanged) show(isFirst ? 0 : news.length);
  } catch {
    if (isAway) return;
    isAway = true;
    show(0);
  }
}

// The time with milliseconds, to distinguish messages of one second.
function time(message) {
  return new Date(message.createTime).toLocaleString("en", {
    year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit",
    fractionalSecondDigits: 3,
  });
}

// Of a narrow window: "list" or "message".
function showPart(part) {
  byId("inbox").dataset.part = part;
}

function matches(message) {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [message.subject, message.to, message.code, message.text].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

function entry(message) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.id = message.id;
  for (const line of [message.subject ?? message.text, message.to, `${kinds[message.kind]}, ${time(message)}`]) {
    const part = document.createElement("span");
    part.textContent = line;
    button.append(part);
  }
  button.setAttribute("aria-current", message.id === opened);
  button.addEventListener("click", () => choose(message.id));
  item.append(button);
  return item;
}

// Adds and removes single items, so that the keyboard focus in the list stays.
function list() {
  const listed = messages.filter(matches);
  byId("matches").textContent =
    byId("search").value.trim() === "" ? "" : `${listed.length} of ${messages.length} messages`;
  const ids = new Set(listed.map((message) => message.id));
  for (const item of [...byId("messages").children]) {
    if (!ids.has(item.firstChild.dataset.id)) item.remove();
  }
  listed.forEach((message, index) => {
    const there = byId("messages").children[index];
    if (there?.firstChild.dataset.id !== message.id) byId("messages").insertBefore(entry(message), there ?? null);
  });
}

function show(newCount) {
  document.querySelector("main").setAttribute("aria-busy", !hasRead);
  byId("problem").textContent = isAway ? "The server does not answer. Retrying every second." : "";
  if (!hasRead) return;
  const isEmpty = messages.length === 0;
  byId("inbox").hidden = isEmpty;
  byId("status").textContent = isEmpty
    ? "Nothing yet. Mails and text messages appear here as soon as Concord writes one."
    : newCount > 0 ? `${newCount} new ${newCount === 1 ? "message" : "messages"}` : "";
  list();
  if (isEmpty) {
    opened = null;
    history.replaceState(null, "", location.pathname);
    showPart("list");
    return;
  }
  if (messages.some((message) => message.id === opened)) {
    open(opened);
    return;
  }
  history.replaceState(null, "", location.pathname);
  showPart("list");
  open(messages[0].id);
}

// The developer's choice. `open` also shows the newest message before any choice, where the window is wide.
function choose(id) {
  history.replaceState(null, "", `#${id}`);
  open(id);
  showPart("message");
  byId("subject").focus();
}

function open(id) {
  const message = messages.find((one) => one.id === id);
  if (id !== opened) byId("copy").textContent = copyLabel;
  opened = id;
  for (const button of byId("messages").querySelectorAll("button")) {
    button.setAttribute("aria-current", button.dataset.id === id);
  }
  const isMail = message.kind === "mail";
  for (const part of ["subject", "text"]) byId(part).lang = message.language;
  byId("subject").textContent = message.subject ?? "Text message";
  byId("kind").textContent = kinds[message.kind];
  byId("sender").hidden = !message.from;
  byId("from").textContent = message.from ?? "";
  byId("to").textContent = message.to;
  byId("typed").hidden = !message.code;
  // Eight digits are easier to read in two groups.
  byId("code").textContent = message.code?.replace(/^(\d{4})(\d{4})$/, "$1 $2") ?? "";
  byId("time").textContent = time(message);
  byId("text").textContent = message.text;
  byId("views").hidden = !isMail;
  byId("html").hidden = !isMail || view !== "html";
  byId("text").hidden = isMail && view !== "text";
  for (const button of byId("views").children) button.setAttribute("aria-pressed", button.dataset.view === view);
  const address = new URL(`messages/${id}`, import.meta.url).href;
  if (isMail && byId("html").src !== address) byId("html").src = address;
}

for (const button of byId("views").children) {
  button.addEventListener("click", () => {
    view = button.dataset.view;
    open(opened);
  });
}
byId("search").addEventListener("input", list);
byId("back").addEventListener("click", () => {
  history.replaceState(null, "", location.pathname);
  showPart("list");
  const chosen = [...byId("messages").querySelectorAll("button")].find((button) => button.dataset.id === opened);
  (chosen ?? byId("search")).focus();
});
byId("copy").addEventListener("click", async () => {
  const { code } = messages.find((message) => message.id === opened);
  try {
    await navigator.clipboard.writeText(code);
    byId("copy").textContent = "Copied";
  } catch {
    // The browser refuses the clipboard: the developer copies the selection.
    getSelection().selectAllChildren(byId("code"));
  }
});
byId("clear").addEventListener("click", async () => {
  if (!confirm("Delete all mails and text messages? Links and codes in them stay usable.")) return;
  try {
    await fetch(new URL("messages", import.meta.url), { method: "DELETE", signal: AbortSignal.timeout(15_000) });
  } catch {
    // The next poll reports that the server does not answer.
  }
  await read();
});
addEventListener("hashchange", () => {
  const id = location.hash.slice(1);
  if (messages.some((message) => message.id === id)) choose(id);
});

while (true) {
  if (document.visibilityState === "visible") await read();
  await new Promise((resolve) => setTimeout(resolve, pause));
}

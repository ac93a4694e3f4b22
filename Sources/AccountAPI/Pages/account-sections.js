// The lists of the account page. Each function returns nodes, made from answers of the service, whose text is never
// markup. `parts` has the functions of the page: `text`, `act`, names and dates.

// The content of the sections before it is read: what was found, the problem of the last read, and whether one runs.
export function empty() {
  return Object.fromEntries(
    ["methods", "sessions", "history", "merges"].map((name) => [name, { found: null, problem: null, isLoading: true }]),
  );
}

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const paragraph = (text, style = null) => element("p", { class: style }, text);

// A button in a list. `about` completes its name for screen readers if several have the same text.
function button(parts, label, [action, argument], { about = null, style = null } = {}) {
  const node = element("button", { type: "button", class: style, "aria-label": about && `${label}: ${about}` }, label);
  node.addEventListener("click", () => parts.act(action, argument));
  return node;
}

function buttons(...all) {
  const shown = all.filter(Boolean);
  return shown.length > 0 ? element("div", { class: "buttons" }, ...shown) : null;
}

// A section: its list, that it is being read, or why it cannot be shown.
export function section(name, content, account, parts) {
  const { found, problem, isLoading } = content[name];
  if (problem) {
    const known = parts.has(`problem.${problem}`) ? problem : "unavailable";
    return [
      element("div", { role: "alert" }, paragraph(parts.text(`problem.${known}`))),
      buttons(button(parts, parts.text("retry"), ["reload", name])),
    ];
  }
  if (!found) return [paragraph(parts.text(isLoading ? "status.busy" : "problem.unavailable"), "hint")];
  return renderers[name](found, parts, account);
}

const renderers = { methods, sessions, history, merges };

// Sign-in methods

function methods(found, parts, { user, project }) {
  const { text } = parts;
  const working = found.methods.filter(({ works }) => works);
  const items = found.methods.map((method) => methodItem(method, working, parts, { user, project }));
  const nodes = [];
  if (items.length > 0) nodes.push(element("ul", null, ...items));
  else nodes.push(paragraph(text("methods.none")));
  if (working.length === 1) nodes.push(paragraph(text("methods.last"), "hint"));
  if (found.suspended.length > 0) {
    nodes.push(
      element("h3", null, text("suspended.title")),
      paragraph(text("suspended.text")),
      element("ul", null, ...found.suspended.map((method) => suspendedItem(method, project, parts))),
    );
  }
  return [...nodes, ...additions(found, user, project, parts)];
}

// `account`: the number and its button are shown.
function methodItem({ method, works, obstacle, proveTime }, working, parts, account = null) {
  const { text } = parts;
  const name = parts.nameOf(method);
  const state = works
    ? element("span", null, text("methods.works"))
    : element("span", { class: "off" }, text("methods.off"));
  const canRemove = !works || working.length > 1;
  return element(
    "li",
    null,
    name,
    state,
    method === "phone" && account?.user?.phoneNumber ? paragraph(account.user.phoneNumber, "hint") : null,
    obstacle ? paragraph(text(`obstacle.${obstacle}`), "hint") : null,
    proveTime ? paragraph(text("methods.since", { date: parts.date(proveTime) }), "hint") : null,
    buttons(
      method === "password" && button(parts, text("password.change"), ["openPassword", "change"]),
      method === "phone" && works && account && sendsTexts(account.project)
        && button(parts, text("phone.change"), ["openPhone", "change"]),
      canRemove && button(parts, text("remove.open", { name }), ["openRemove", method]),
    ),
  );
}

function suspendedItem({ method, reason, expireTime }, project, parts) {
  const { text } = parts;
  const name = parts.nameOf(method);
  const isOffered = project.methods.some((one) => one.method === method);
  const canConnect = isOffered && isProvider(method);
  const canText = isOffered && method === "phone" && sendsTexts(project);
  return element(
    "li",
    null,
    element("s", null, name),
    paragraph(text(`suspended.${reason}`), "hint"),
    paragraph(text("suspended.until", { date: parts.moment(expireTime) }), "hint"),
    method === "password" || canConnect || canText
      ? null
      : paragraph(text("suspended.elsewhere", { method: parts.phraseOf(method) })),
    buttons(
      method === "password" && button(parts, text("restore.open", { name }), ["openRestore", { method, expireTime }]),
      canConnect && button(parts, text("restore.open", { name }), ["openConnect", method]),
      canText && button(parts, text("phone.add"), ["openPhone", "add"]),
      button(parts, text("discard.open", { name }), ["openDiscard", method]),
    ),
  );
}

const isProvider = (method) => method.includes(".");

// True if this page can ask for texts.
const sendsTexts = ({ textChallenge }) => ["none", "required"].includes(textChallenge);

// The methods that the person can add here. An email link needs nothing. A number is no first factor of an account with
// a second one.
function additions(found, user, project, parts) {
  const { text } = parts;
  const has = (method) => found.methods.some((one) => one.method === method);
  const isSuspended = (method) => found.suspended.some((one) => one.method === method);
  const offers = project.methods
    .filter(({ method }) => isProvider(method) && !has(method) && !isSuspended(method))
    .map(({ method }) => button(parts, text("connect.open", { name: parts.nameOf(method) }), ["openConnect", method]));
  const phone = project.methods.some(({ method }) => method === "phone") && sendsTexts(project)
    && !has("phone") && !isSuspended("phone") && !user?.mfaInfo?.length;
  if (phone) offers.unshift(button(parts, text("phone.add"), ["openPhone", "add"]));
  const password = project.methods.some(({ method }) => method === "password") && user?.email && !has("password");
  if (password) offers.unshift(button(parts, text("password.add"), ["openPassword", "add"]));
  if (offers.length === 0) return [];
  return [element("h3", null, text("methods.add")), element("div", { class: "add" }, ...offers)];
}

// Sessions and devices

function sessions(found, parts) {
  const { text } = parts;
  // The latest use first.
  const others = found.sessions.filter(({ current }) => !current)
    .sort((one, other) => Date.parse(other.lastUseTime) - Date.parse(one.lastUseTime));
  const all = [...found.sessions.filter(({ current }) => current), ...others];
  const nodes = [
    element("ul", null, ...all.map((session) => sessionItem(session, parts))),
    found.nextPageToken ? buttons(button(parts, text("more"), ["moreSessions"])) : null,
    others.length > 0
      ? element("div", { class: "add" }, button(parts, text("sessions.endOthers"), ["endOthers"]))
      : null,
  ];
  const refused = (found.refusedSignIns ?? []).reduce((sum, { count }) => sum + Number(count), 0);
  if (refused > 0) {
    const last = found.refusedSignIns.map(({ lastTime }) => lastTime).sort().at(-1);
    nodes.push(paragraph(text("sessions.refused", { count: refused, date: parts.moment(last) }), "hint"));
  }
  if (found.devices?.length > 0) {
    nodes.push(
      element("h3", null, text("devices.title")),
      paragraph(text("devices.text"), "hint"),
      element("ul", null, ...found.devices.map((device) => deviceItem(device, parts))),
    );
  }
  return nodes.filter(Boolean);
}

function sessionItem({ sessionId, startTime, lastUseTime, signInProvider, device, current }, parts) {
  const { text } = parts;
  const name = deviceName(device, parts);
  const way = parts.has(`sessions.by.${signInProvider}`)
    ? text(`sessions.by.${signInProvider}`)
    : text("sessions.by", { method: parts.phraseOf(signInProvider) });
  return element(
    "li",
    null,
    name,
    current ? element("span", null, text("sessions.current")) : null,
    paragraph(way, "hint"),
    paragraph(
      text("sessions.times", { start: parts.moment(startTime), last: parts.moment(lastUseTime) }),
      "hint",
    ),
    current ? null : buttons(button(parts, text("sessions.end"), ["endSession", sessionId], { about: name })),
  );
}

function deviceItem({ deviceId, device, lastUseTime }, parts) {
  const { text } = parts;
  const name = deviceName(device, parts);
  return element(
    "li",
    null,
    name,
    paragraph(text("devices.last", { date: parts.moment(lastUseTime) }), "hint"),
    buttons(button(parts, text("devices.forget"), ["forgetDevice", deviceId], { about: name })),
  );
}

// The browser and system that a `User-Agent` names. The first match counts: later browsers also name earlier ones.
const browsers = [
  ["Edg", "Edge"], ["OPR", "Opera"], ["SamsungBrowser", "Samsung Internet"], ["Firefox", "Firefox"],
  ["FxiOS", "Firefox"], ["CriOS", "Chrome"], ["Chrome", "Chrome"], ["Safari", "Safari"],
];
const systems = [
  ["Windows", "Windows"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android"], ["CrOS", "ChromeOS"],
  ["Mac OS X", "macOS"], ["Linux", "Linux"],
];

function deviceName(agent, parts) {
  if (!agent) return parts.text("sessions.unknown");
  const first = (list) => list.find(([mark]) => agent.includes(mark))?.[1];
  const [browser, system] = [first(browsers), first(systems)];
  if (browser && system) return parts.text("sessions.device", { browser, system });
  return browser ?? system ?? agent.split(/[\s/(]/, 1)[0].slice(0, 40);
}

// History

function history(found, parts) {
  const { text } = parts;
  const known = found.events.filter(({ kind }) => parts.has(`history.${kind}`));
  if (known.length === 0 && !found.nextPageToken) return [paragraph(text("history.none"))];
  const items = known.map((event) => element(
    "li",
    null,
    sentence(event, parts),
    paragraph(parts.moment(event.time), "hint"),
  ));
  return [
    element("ul", { class: "sentences" }, ...items),
    found.nextPageToken ? element("div", { class: "add" }, button(parts, text("history.more"), ["moreHistory"])) : null,
  ].filter(Boolean);
}

function sentence({ kind, method }, parts) {
  const specific = `history.${kind}.method`;
  if (method && parts.has(specific)) {
    return parts.text(specific, { method: parts.phraseOf(method), name: parts.nameOf(method) });
  }
  return parts.text(`history.${kind}`);
}

// Merges

export function merges(found, parts) {
  const { text } = parts;
  const open = (found?.merges ?? []).filter(({ state, canUndo }) => state === "prepared" || canUndo);
  if (open.length === 0) return [];
  return [element("ul", { class: "plain" }, ...open.map((merge) => element(
    "li",
    null,
    merge.state === "prepared"
      ? text("merges.waits", { date: parts.moment(merge.answerUntil) })
      : text("merges.merged", { date: parts.date(merge.endTime), until: parts.moment(merge.undoUntil) }),
    buttons(merge.canUndo && button(parts, text("undo.open"), ["openUndo", merge.id])),
  )))];
}

// Both accounts have a value, and not the same one.
function isChoice({ field, survivor, absorbed }, merge) {
  const isOpen = merge.preview.undecided?.includes(field) || field in merge.choices;
  return isOpen || (survivor !== undefined && absorbed !== undefined && survivor !== absorbed);
}

// The choices of a merge.
export function mergeChoices(merge, parts) {
  const choices = (merge?.preview?.fields ?? []).filter((line) => isChoice(line, merge));
  if (choices.length === 0) return [];
  return [paragraph(parts.text("merge.drops")), ...choices.map((line) => choiceOf(line, merge, parts))];
}

// The other consequences of a merge, beside the chosen values.
export function mergeOutcome(merge, parts) {
  if (!merge?.preview) return [];
  const { text } = parts;
  const { fields, movedSecondFactors, endsSessions } = merge.preview;
  const items = fields.filter((line) => !isChoice(line, merge) && line.taken).map((line) => {
    const values = { field: fieldName(line.field, parts), value: valueOf(line.field, line.value, parts) };
    return text(`merge.${line.taken === "absorbed" ? "moves" : "stays"}`, values);
  });
  if (movedSecondFactors > 0) items.push(text("merge.factors", { count: movedSecondFactors }));
  if (endsSessions) items.push(text("merge.sessions"));
  items.push(text("merge.absorbed"));
  return [element("ul", { class: "plain" }, ...items.map((item) => element("li", null, item)))];
}

function choiceOf({ field, survivor, absorbed, taken }, merge, parts) {
  const { text } = parts;
  const options = [["survivor", survivor], ["absorbed", absorbed]].map(([side, value]) => {
    const id = `choice-${field}-${side}`;
    const input = element("input", { type: "radio", id, name: `choice-${field}`, value: side });
    input.checked = (merge.choices[field] ?? taken) === side;
    input.addEventListener("change", () => parts.choose(field, side));
    const shown = valueOf(field, value, parts);
    const from = field === "email" ? shown : text("merge.from", { value: shown, account: parts.sideName(side) });
    return element("div", { class: "option" }, input, element("label", { for: id }, from));
  });
  return element(
    "fieldset",
    null,
    element("legend", null, text("merge.choose", { field: fieldName(field, parts) })),
    ...options,
  );
}

const fieldName = (field, parts) => (parts.has(`field.${field}`) ? parts.text(`field.${field}`) : parts.nameOf(field));

// Passwords and the ids of a provider's users are not shown.
function valueOf(field, value, parts) {
  if (value === undefined || value === null) return parts.text("value.none");
  if (field === "password") return parts.text("value.password");
  if (field === "customAttributes") return parts.text("value.set");
  if (isProvider(field)) return parts.nameOf(field);
  return value;
}

// After "This was not me"

// The methods, newest first, because an intruder's are new.
export function suspects(content, parts) {
  const found = content.methods.found;
  if (!found) return section("methods", content, {}, parts);
  const working = found.methods.filter(({ works }) => works);
  const newest = [...found.methods].sort((one, two) => (two.proveTime ?? "").localeCompare(one.proveTime ?? ""));
  return [
    element("ul", null, ...newest.map((method) => methodItem(method, working, parts))),
  ];
}

// A new password, for an account that can have one.
export function passwordOffer(content, user, project, parts) {
  const has = content.methods.found?.methods.some(({ method }) => method === "password");
  if (has || !user?.email || !project.methods.some(({ method }) => method === "password")) return [];
  return [element("div", { class: "add" }, button(parts, parts.text("password.add"), ["openPassword", "add"]))];
}

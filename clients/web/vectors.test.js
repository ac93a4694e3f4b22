// Plays the server of `clients/vectors.json` for `concord.js` in a browser, and reports what differs. `WebClientTests`
// runs it.
import { Concord } from "./concord.js";

const url = "https://id.example.com";

// The calls of the client for an operation. Every other operation is sent as it stands, by `call`.
const operations = {
  "signUp.password": (concord, body) => concord.signIn("v1/accounts:signUp", body),
  "signUp.anonymous": (concord) => concord.signIn("v1/accounts:signUp", {}),
  "signIn.password": (concord, body) => concord.signIn("v1/accounts:signInWithPassword", body),
  "signIn.customToken": (concord, body) => concord.signIn("v1/accounts:signInWithCustomToken", body),
  "signIn.credential": (concord, { accessToken, idToken, providerID, asksFirst }) =>
    concord.signIn("v1/accounts:signInWithIdp", {
      requestUri: "http://localhost",
      postBody: new URLSearchParams({
        providerId: providerID, ...(idToken ? { id_token: idToken } : { access_token: accessToken }),
      }).toString(),
      returnIdpCredential: true,
      asksFirst,
    }),
  "token.refresh": (concord) => concord.idToken(true),
  "about.read": (concord) => concord.about(),
  "signInPage.read": (concord) => concord.signInPage(),
  "reauthenticationPolicy.read": (concord) => concord.reauthenticationPolicy(),
  "decision.read": (concord, { decision }) => concord.decision(decision),
  "shortCode.exchange": (concord, body) => concord.exchangeShortCode(body),
  "emailCode.disown": (concord, body) => concord.disownAccount(body),
  "conflict.read": (concord, { conflict, proofToken }) =>
    concord.readConflict(conflict, {}, { headers: { "Concord-Proof": proofToken } }),
  "conflict.startProof": async (concord, { conflict, kind }) =>
    concord.startProof(conflict, { kind, ...(kind === "session" && { idToken: await concord.idToken() }) }),
  "conflict.prove": (concord, { conflict, ...body }) => concord.completeProof(conflict, body),
  "conflict.resolve": (concord, { conflict, ...body }) => concord.resolveConflict(conflict, body),
  "conflict.decline": (concord, { conflict }) => concord.declineConflict(conflict),
  "conflict.setReturn": (concord, { conflict, continueURL, ...body }) =>
    concord.setReturn(conflict, { continueUrl: continueURL, ...body }),
  "conflict.issueCode": async (concord, { conflict }) =>
    concord.issueConflictCode(conflict, { idToken: await concord.idToken() }),
  "session.exchange": (concord, body) => concord.exchangeSession(body),
  "lookup.request": (concord, body) => concord.lookup(body),
  "lookup.prove": (concord, body) => concord.proveLookup(body),
  "lookup.continue": (concord, body) => concord.continueLookup(body),
  "pendingSignUp.prove": (concord, { pendingToken, ...body }) => concord.proveSignUp(pendingToken, body),
  "pendingSignUp.create": (concord, { pendingToken, ...body }) => concord.createAccount(pendingToken, body),
  "pendingSignUp.link": (concord, { pendingToken, ...body }) => concord.linkSignUp(pendingToken, body),
  "methods.read": (concord) => concord.methods(),
  "methods.remove": (concord, { method }) => concord.removeMethod(method),
  "sessions.read": (concord) => concord.sessions(),
  "sessions.end": (concord, { session }) => concord.endSession(session),
  "sessions.endAll": (concord, { keepsCurrent }) => concord.endSessions({ keepCurrent: keepsCurrent }),
  "devices.revoke": (concord, { device }) => concord.revokeDevice(device),
  "suspendedMethods.read": (concord) => concord.suspendedMethods(),
  "suspendedMethods.restorePassword": (concord, body) => concord.restorePassword(body),
  "suspendedMethods.discard": (concord, { method }) => concord.discardSuspended(method),
  "events.read": (concord) => concord.events(),
  "export.read": (concord) => concord.exportData(),
  "merge.preview": (concord, { other, choices }, bearer) =>
    concord.merge({ absorbedIdToken: other, choices, validateOnly: true }, { bearer }),
  "merge.commit": (concord, { other, choices }, bearer) =>
    concord.merge({ absorbedIdToken: other, choices }, { bearer }),
  "merge.read": (concord, { merge }, bearer) => concord.readMerge(merge, {}, { bearer }),
  "merge.list": (concord, _, bearer) => concord.merges({}, { bearer }),
  "merge.undo": (concord, { merge }, bearer) => concord.undoMerge(merge, {}, { bearer }),
};

// The journeys in which the web client does less than the file says, with the reason.
const lacks = {
  "an ID token of another issuer": "the server that answers over TLS is the issuer",
};

// Outcomes of the web client that the file describes for clients with more of their own.
const codes = {
  "concord/invalid-server-answer": ["invalid-answer"],
  "concord/unavailable": ["unavailable", "invalid-answer"],
  "concord/token-of-another-account": ["no-session", "invalid-answer"],
  "auth/invalid-api-key": ["the request is missing a valid api key."],
  "auth/user-token-expired": ["token-expired", "user-not-found", "invalid-refresh-token"],
};

const encode = (value) => btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

class Journey {
  saved = {};
  device = "first";
  tokens = {};
  differences = [];
  count = 0;

  constructor(journey, { shared, mayAdd }) {
    Object.assign(this, { journey, shared, mayAdd });
  }

  // Values

  step(step) {
    return step.$shared ? this.shared[step.$shared] : step;
  }

  value(value) {
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (!isObject(value)) return value;
    if ("$use" in value) return this.saved[value.$use];
    if ("$text" in value) return value.$text.map((part) => this.value(part)).join("");
    if ("$form" in value) return new URLSearchParams(this.value(value.$form)).toString();
    if ("$unordered" in value) return this.value(value.$unordered);
    if ("$save" in value) return this.saved[value.$save] ?? this.save(value);
    if ("$is" in value) return this.make({ ...value, is: value.$is });
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.value(member)]));
  }

  save(value) {
    const made = (this.saved[value.$save] = this.make(value));
    // Each device has its own session.
    if (/Token$/.test(value.is)) this.tokens[this.device] = { ...this.tokens[this.device], [value.$save]: made };
    return made;
  }

  // Values first that tokens are made of. An answer replaces what earlier ones saved.
  forget(value, isToken) {
    if (Array.isArray(value)) value.forEach((item) => this.forget(item, isToken));
    else if (isObject(value)) {
      if ("$save" in value && (value.is === "idToken") === isToken) {
        delete this.saved[value.$save];
        this.fresh.push(value);
      }
      Object.values(value).forEach((member) => this.forget(member, isToken));
    }
  }

  body(value) {
    for (const isToken of [false, true]) {
      this.fresh = [];
      this.forget(value, isToken);
      for (const fresh of this.fresh) this.value(fresh);
    }
    return this.value(value);
  }

  make({ is, claims, parameters }) {
    this.count += 1;
    switch (is) {
      case "idToken": {
        const now = Math.floor(Date.now() / 1000);
        const given = this.value(claims ?? {});
        const standard = {
          iss: "https://securetoken.google.com/demo-concord", aud: "demo-concord", sub: given.user_id, iat: now,
          exp: now + 3600, auth_time: now, concord: { session: `session-${this.count}`, epoch: 1 },
        };
        return `${encode({ alg: "none" })}.${encode({ ...standard, ...given })}.${this.count}`;
      }
      case "number": return this.count;
      case "millis": case "digits": return String(1_700_000_000_000 + this.count);
      case "timestamp": return "2026-01-01T00:00:00.000Z";
      case "url": {
        const query = new URLSearchParams();
        for (const [name, save] of Object.entries(parameters ?? {})) {
          this.saved[save] ??= `${name}-${this.count}`;
          query.set(name, this.saved[save]);
        }
        return `https://id.example.com/page?${query}`;
      }
      default: return `${is}-${this.count}`;
    }
  }

  // Comparison

  same(expected, found) {
    return JSON.stringify(this.sorted(expected)) === JSON.stringify(this.sorted(found));
  }

  sorted(value) {
    if (Array.isArray(value)) return value.map((item) => this.sorted(item));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).sort().map(([name, member]) => [name, this.sorted(member)]));
  }

  differ(what, expected, found) {
    const [wanted, got] = [expected, found].map((value) => JSON.stringify(value));
    this.differences.push(`${this.journey.name}, ${this.current}: ${what}: ${wanted}, found ${got}`);
  }

  check(request, address, { method, headers, body }) {
    const found = new URL(address);
    const sent = new Map(headers);
    const path = typeof request.path === "string" ? request.path : this.value(request.path);
    if (method !== request.method || decodeURIComponent(found.pathname) !== path) {
      this.differ("request", `${request.method} ${path}`, `${method} ${found.pathname}`);
    }
    const bearer = request.bearer && `Bearer ${this.value(request.bearer)}`;
    if (sent.get("Authorization") !== bearer) this.differ("bearer", bearer, sent.get("Authorization"));
    const hasKey = this.journey.client?.apiKey !== null;
    if (request.key && hasKey && !found.searchParams.get("key")) this.differ("key", true, null);
    const query = Object.fromEntries([...found.searchParams].filter(([name]) => name !== "key"));
    if (!this.same(this.value(request.query ?? {}), query)) this.differ("query", this.value(request.query), query);
    const content = body && JSON.parse(body);
    if (request.form) {
      const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const form = Object.fromEntries(Object.entries(content).map(([name, value]) => [snake(name), value]));
      if (!this.same(this.value(request.form), form)) this.differ("form", this.value(request.form), form);
      return;
    }
    const expected = request.body && this.value(request.body);
    const kept = content && Object.fromEntries(
      Object.entries(content).filter(([name, value]) => {
        if (value === null) return false;
        if (expected && name in expected) return true;
        const allowed = this.mayAdd[name];
        return !(allowed === "any" || allowed?.some((one) => this.same(one, value)));
      }),
    );
    // The order of a form's fields does not matter.
    const sorted = (text) => text && [...new URLSearchParams(text)].sort();
    const form = (members) => members && { ...members, postBody: sorted(members.postBody) };
    if (!this.same(form(expected), form(kept))) this.differ("body", expected, kept);
  }

  // Play

  client() {
    const options = { url, apiKey: "API-KEY", projectId: "demo-concord", storage: "localStorage" };
    this.concord = new Concord({ ...options, ...this.journey.client });
  }

  async play() {
    localStorage.clear();
    const devices = {};
    let offset = 0;
    const now = Date.now.bind(Date);
    Date.now = () => now() + offset;
    this.client();
    try {
      for (const [index, listed] of this.journey.steps.entries()) {
        const step = this.step(listed);
        this.current = `step ${index + 1}`;
        if (step.event) {
          if (step.event === "restart") this.client();
          if (step.event === "time") offset += step.seconds * 1000;
          if (step.event === "device") {
            devices[this.device] = [this.concord, { ...localStorage }];
            localStorage.clear();
            this.device = step.name;
            const [concord, storage] = devices[this.device] ?? [];
            for (const [name, value] of Object.entries(storage ?? {})) localStorage.setItem(name, value);
            if (concord) this.concord = concord;
            else this.client();
          }
          for (const save of Object.values(step.save && isObject(step.save) ? step.save : {})) {
            this.saved[save] = `${save}-${(this.count += 1)}`;
          }
          if (typeof step.save === "string") this.saved[step.save] = `${step.save}-${(this.count += 1)}`;
          continue;
        }
        for (let turn = 0; turn < (step.repeat ?? 1); turn += 1) await this.run(step);
      }
    } finally {
      Date.now = now;
    }
    return this;
  }

  async run({ operation, arguments: members, request, answer, outcome }) {
    this.current += ` ${operation}`;
    let isSent = false;
    window.fetch = async (address, sent) => {
      // After a restart the client has the refresh token alone.
      if (address.includes("/v1/token?") && request.path !== "/v1/token") {
        const { idToken, refreshToken } = this.tokens[this.device];
        return Response.json({ id_token: idToken, refresh_token: refreshToken, expires_in: "3600" });
      }
      // A repeated request gets the same answer.
      if (!isSent) {
        this.check(request, address, sent);
        this.answer = answer.text ?? JSON.stringify(this.body(answer.body));
      }
      isSent = true;
      return new Response(this.answer, { status: answer.status, headers: this.value(answer.headers ?? {}) });
    };
    const own = operations[operation];
    if (members?.refreshToken) {
      const session = JSON.stringify({ uid: "uid", refreshToken: members.refreshToken });
      localStorage.setItem(`concord:${url}:API-KEY`, session);
      this.client();
    }
    let result, failure;
    try {
      if (own) result = await own(this.concord, this.value(members ?? {}), this.value(request.bearer));
      else {
        const body = request.body && this.value(request.body);
        result = await this.concord.call(request.method, this.value(request.path).slice(1), { body });
      }
    } catch (error) {
      failure = error;
    }
    if (!isSent) this.differ("request", request.path, null);
    if (own) this.compare(outcome, result, failure);
    else if (outcome.error?.serverCode || failure) this.compareError(outcome.error ?? {}, failure);
  }

  compare({ user, signedOut, value, error, secondFactor }, result, failure) {
    if (secondFactor) {
      const isAsked = failure?.code === "second-factor-required" && failure.details.mfaInfo;
      if (!isAsked) this.differ("second factor", true, failure?.code);
    } else if (error) this.compareError(error, failure);
    else if (failure) this.differ("outcome", value ?? user, `${failure.code} ${failure.stack}`);
    if (user?.uid) {
      const uid = this.value(user.uid);
      if (this.concord.uid !== uid) this.differ("user", uid, this.concord.uid);
    }
    if (user === null && this.concord.uid) this.differ("user", null, this.concord.uid);
    // A route that refuses the session leaves it to the next refresh to end it.
    const isRefused = failure?.code === "invalid-session";
    if (signedOut !== undefined && !isRefused && Boolean(this.concord.uid) === signedOut) {
      this.differ("signed out", signedOut, this.concord.uid);
    }
    if (value && !failure) {
      for (const [name, expected] of Object.entries(this.value(value))) {
        const names = ({ method, id, deviceId, kind, sessionId }) => kind ?? method ?? deviceId ?? sessionId ?? id;
        const member = result[name] ?? result.conflict?.[name];
        const list = (name) => member.map((item) => (isObject(item) ? name(item) : item)).sort();
        const found = Array.isArray(member) ? [list(names), list(({ id }) => id)] : [member];
        const wanted = Array.isArray(expected) ? [...expected].sort() : expected;
        if (!found.some((one) => this.same(wanted, one))) this.differ(`value ${name}`, expected, found[0]);
      }
    }
  }

  compareError({ code, serverCode, email, conflict }, failure) {
    const allowed = [code].flat().flatMap((one) => codes[one] ?? []);
    for (const one of [code].flat()) if (one?.startsWith("concord/")) allowed.push(one.slice("concord/".length));
    for (const one of [serverCode ?? []].flat()) allowed.push(one.toLowerCase().replaceAll("_", "-"));
    for (const one of [code].flat()) if (one?.startsWith("auth/")) allowed.push(one.slice("auth/".length));
    if (!allowed.includes(failure?.code)) this.differ("error", allowed, failure?.code ?? failure?.stack);
    if (email && failure?.email !== email) this.differ("email", email, failure?.email);
    if (!conflict) return;
    const expected = this.value(conflict);
    const found = { handle: failure?.conflict?.handle, providerID: failure?.conflict?.providerId };
    if (!this.same(expected, found)) this.differ("conflict", expected, found);
  }
}

export async function play(vectors) {
  const played = { journeys: 0, operations: new Set(), raw: new Set(), differences: [] };
  if (vectors.format !== 1) throw new Error(`format ${vectors.format}`);
  for (const name of Object.keys(lacks)) {
    if (!vectors.journeys.some((journey) => journey.name === name)) played.differences.push(`no journey: ${name}`);
  }
  for (const journey of vectors.journeys) {
    if (lacks[journey.name]) continue;
    const { differences } = await new Journey(journey, vectors).play();
    played.journeys += 1;
    played.differences.push(...differences);
    for (const listed of journey.steps) {
      const { operation } = listed.$shared ? vectors.shared[listed.$shared] : listed;
      if (operation) (operations[operation] ? played.operations : played.raw).add(operation);
    }
  }
  return { ...played, operations: [...played.operations], raw: [...played.raw] };
}

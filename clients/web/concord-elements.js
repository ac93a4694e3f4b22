// Documented in concord-elements.d.ts.

import { claims, Concord, ConcordError } from "./concord.js";

const words = new Map(
  `signIn|Sign in|登入|ลงชื่อเข้าใช้
email|Email address|電子郵件地址|ที่อยู่อีเมล
password|Password|密碼|รหัสผ่าน
emailLink|Email link|電子郵件連結|ลิงก์ทางอีเมล
phone|Phone number|電話號碼|หมายเลขโทรศัพท์
newPassword|New password|新密碼|รหัสผ่านใหม่
code|8-digit code|8 位數驗證碼|รหัสยืนยัน 8 หลัก
shortCode|6-digit code|6 位數驗證碼|รหัสยืนยัน 6 หลัก
next|Continue|繼續|ดำเนินการต่อ
cancel|Cancel|取消|ยกเลิก
with|Continue with {name}|使用{name}繼續|ดำเนินการต่อด้วย{name}
create|Create an account|建立帳戶|สร้างบัญชี
mail|Email me how to sign in|將登入方式寄給我|ส่งวิธีลงชื่อเข้าใช้ให้ฉันทางอีเมล
other|Use another address|使用其他電子郵件地址|ใช้ที่อยู่อีเมลอื่น
others|Sign in another way|使用其他方式登入|ลงชื่อเข้าใช้ด้วยวิธีอื่น
sent|We sent an email to {email}. Enter its code here.|我們已寄出郵件到{email}。請在此輸入驗證碼。|เราส่งอีเมลไปที่{email}แล้ว กรอกรหัสยืนยันที่นี่
link|We sent an email to {email}. Open its link.|我們已寄出郵件到{email}。請開啟連結。|เราส่งอีเมลไปที่{email}แล้ว เปิดลิงก์ในอีเมล
stops|These methods stop working, because they may belong to someone else: {names}. You can restore them afterwards.|以下登入方式將會停用，因為可能屬於其他人：{names}。您可以在之後復原。|วิธีต่อไปนี้จะใช้ไม่ได้ เพราะอาจเป็นของผู้อื่น: {names} คุณกู้คืนได้ภายหลัง
factor|Enter the code from your authenticator app.|請輸入驗證器應用程式中的驗證碼。|กรอกรหัสยืนยันจากแอปยืนยันตัวตนของคุณ
done|You are signed in|您已登入|คุณลงชื่อเข้าใช้แล้ว
signOut|Sign out|登出|ออกจากระบบ
first|Is this your first visit?|這是您第一次使用嗎？|คุณมาที่นี่ครั้งแรกใช่ไหม
have|I already have an account|我已經有帳戶|ฉันมีบัญชีอยู่แล้ว
waiting|{name} is connected afterwards.|登入後會連結{name}。|จากนั้นจะเชื่อมโยงกับ{name}
unlinked|{name} could not be connected.|無法連結{name}。|เชื่อมโยง{name}ไม่ได้
yours|Is this account yours?|這個帳戶是您的嗎？|บัญชีนี้เป็นของคุณใช่ไหม
exists|{name} is not connected to this account yet. Verify that the account is yours to connect it.|這個帳戶尚未連結{name}。請驗證帳戶是您的，以進行連結。|บัญชีนี้ยังไม่ได้เชื่อมโยงกับ{name} โปรดยืนยันว่าบัญชีเป็นของคุณเพื่อเชื่อมโยง
mailCode|Email me a code|將驗證碼寄給我|ส่งรหัสยืนยันให้ฉันทางอีเมล
decline|This was not me|這不是我|นี่ไม่ใช่ฉัน
check|Check your email|請查看您的電子郵件|โปรดตรวจสอบอีเมลของคุณ
connect|Connect {name}|連結{name}|เชื่อมโยง{name}
proven|You verified that the account is yours.|您已驗證這個帳戶是您的。|คุณยืนยันแล้วว่าบัญชีนี้เป็นของคุณ
replaces|This {name} account replaces the one that is connected now.|這會取代目前連結的{name}帳戶。|บัญชี{name}นี้จะแทนที่บัญชีที่เชื่อมโยงอยู่
resolved|{name} is connected|已連結{name}|เชื่อมโยง{name}แล้ว
declined|Nothing was connected|沒有連結任何項目|ไม่มีการเชื่อมโยงใดๆ
account|Your account|您的帳戶|บัญชีของคุณ
methods|How you sign in|您的登入方式|วิธีลงชื่อเข้าใช้
off|does not work|無法使用|ใช้ไม่ได้
remove|Remove {name}|移除{name}|นำ{name}ออก
suspended|Suspended|已停用|ถูกระงับ
restore|Restore {name}|復原{name}|กู้คืน{name}
sessions|Where you are signed in|您登入的裝置|อุปกรณ์ที่ลงชื่อเข้าใช้อยู่
here|this device|這個裝置|อุปกรณ์นี้
last|Last active {time}|最近使用 {time}|ใช้งานล่าสุด {time}
endOthers|Sign out all other devices|登出所有其他裝置|ออกจากระบบบนอุปกรณ์อื่นทั้งหมด
more|More settings|更多設定|การตั้งค่าเพิ่มเติม
delete|Delete my account|刪除我的帳戶|ลบบัญชีของฉัน
forGood|This cannot be undone.|刪除後無法復原。|การลบนี้เลิกทำไม่ได้
confirm|Confirm that it is you|確認是您本人|ยืนยันว่าเป็นคุณ
missing|Check this field.|請檢查這個欄位。|โปรดตรวจสอบช่องนี้
credentials|The address or the password is wrong. Try again.|地址或密碼不正確。請再試一次。|ที่อยู่อีเมลหรือรหัสผ่านไม่ถูกต้อง โปรดลองอีกครั้ง
wrong|The code is wrong or too old. Use the newest one.|驗證碼不正確或已過期。請使用最新的驗證碼。|รหัสยืนยันไม่ถูกต้องหรือเก่าเกินไป โปรดใช้รหัสล่าสุด
weak|This password does not meet the requirements.|這個密碼不符合要求。|รหัสผ่านนี้ไม่เป็นไปตามข้อกำหนด
taken|This belongs to another account.|這屬於另一個帳戶。|สิ่งนี้เป็นของบัญชีอื่น
many|Too many attempts. Try again later.|嘗試次數太多。請稍後再試。|ลองหลายครั้งเกินไป โปรดลองอีกครั้งภายหลัง
offline|The service does not answer. Try again later.|服務沒有回應。請稍後再試。|บริการไม่ตอบสนอง โปรดลองอีกครั้งภายหลัง
ended|This request no longer exists. Sign in again.|這個要求已不存在。請重新登入。|คำขอนี้ไม่มีอยู่แล้ว โปรดลงชื่อเข้าใช้อีกครั้ง
disabled|The account is disabled.|帳戶已停用。|บัญชีถูกปิดใช้
only|Add another method before you remove this one.|移除前請先新增另一種方式。|เพิ่มวิธีอื่นก่อนที่จะนำวิธีนี้ออก
failed|This did not work. Try again, or choose another method.|操作失敗。請再試一次，或選擇其他方式。|ไม่สำเร็จ โปรดลองอีกครั้ง หรือเลือกวิธีอื่น`
    .split("\n")
    .map((line) => [line.split("|")[0], line.split("|").slice(1)]),
);

const problems = [
  ["credentials", /login-credentials|invalid-password|email-not-found|mismatch/],
  ["wrong", /wrong-proof|^invalid-code|code-unusable|proof-/],
  ["weak", /weak-password|password-does/],
  ["taken", /already-linked|in-use|email-exists/],
  ["many", /too-many|quota/],
  ["offline", /network|invalid-answer|unavailable|internal-error/],
  ["ended", /^conflict-|pending-|session/],
  ["disabled", /user-disabled/],
  ["only", /last-sign-in-method/],
  ["missing", /email/],
];

const style = new CSSStyleSheet();
style.replaceSync(`@layer concord {
concord-signin, concord-conflict, concord-account {
  --a: var(--concord-accent, light-dark(#1d56c9, #8db4ff));
  --b: var(--concord-background, light-dark(#fff, #191f27));
  --t: var(--concord-text, light-dark(#1a2028, #e9edf2));
  --e: var(--concord-error, light-dark(#a1221b, #ffb4ac));
  --l: color-mix(in srgb, var(--t) 50%, var(--b));
  display: block;
  color: var(--t);
  background: var(--b);
  line-height: 1.6;
  overflow-wrap: anywhere;
  & :is(div, form, section, li) { display: grid; gap: .75rem; }
  & :is(h2, h3, p, ul) { margin: 0; padding: 0; }
  & h3 { margin-top: 1rem; font-size: 1rem; }
  & :is(input, button, a) {
    display: block; box-sizing: border-box; width: 100%; min-height: 3rem; padding: .375rem .75rem; font: inherit;
    border: 1px solid var(--l); border-radius: var(--concord-radius, .625rem); background: var(--b); color: var(--t);
  }
  & :is(button, a) { display: grid; place-items: center; color: var(--a); text-decoration: none; }
  & [type=submit] { background: var(--a); color: var(--b); }
  & :is(.danger, [role=alert]) { color: var(--e); }
  & li { padding: .75rem 0; border-top: 1px solid var(--l); }
  & > p { margin-bottom: .75rem; }
  & > p:empty { display: none; }
  &[aria-busy=true] button { opacity: .6; }
}}`);

function el(tag, members, ...children) {
  const node = Object.assign(document.createElement(tag), members);
  node.append(...children.flat(9).filter(Boolean));
  return node;
}

const clients = new Map();

const isProvider = (method) => /\./.test(method);

class Steps extends HTMLElement {
  #options = {};
  #life;
  #alert = el("p", { role: "alert" });
  #status = el("p", { role: "status" });
  #body = el("div");
  #view;

  connectedCallback() {
    const { signal } = (this.#life = new AbortController());
    const root = this.getRootNode();
    if (!root.adoptedStyleSheets.includes(style)) root.adoptedStyleSheets.push(style);
    this.replaceChildren(this.#alert, this.#status, this.#body);
    const observer = new MutationObserver(() => this.#draw());
    for (const node of [document.documentElement, this]) observer.observe(node, { attributeFilter: ["lang"] });
    signal.onabort = () => observer.disconnect();
    for (const name of ["concord-session", "concord-signed-out"]) {
      document.addEventListener(name, ({ target }) => this.contains(target) || this.#begin(), { signal });
    }
    if (this.#view) this.#draw();
    else setTimeout(() => signal.aborted || this.#begin());
  }

  disconnectedCallback() {
    this.#life.abort();
  }

  #begin() {
    const [url, apiKey] = [this.getAttribute("url"), this.getAttribute("api-key")];
    const key = `${url} ${apiKey}`;
    if (!this.concord && !clients.has(key)) {
      const projectId = this.getAttribute("project-id") ?? undefined;
      const storage = this.getAttribute("storage") ?? "localStorage";
      clients.set(key, new Concord(Object.assign(this.#options, { url, apiKey, projectId, storage })));
    }
    this.concord ??= clients.get(key);
    return this.run(() => this.start());
  }

  get tag() {
    return this.closest("[lang]")?.lang ?? "";
  }

  t = (key, values = {}) => {
    const text = words.get(key)[{ zh: 1, th: 2 }[this.tag.slice(0, 2)] ?? 0];
    const filled = text.replace(/\{(\w+)\}/g, (_, key) => (key === "name" ? this.name(values.name) : values[key]));
    return filled.replace(/(?<=[ก-๛一-鿿])(?=\w)|(?<=\w)(?=[ก-๛一-鿿])/g, " ");
  };

  name = (method) => {
    if (words.has(method)) return this.t(method);
    const known = this.project?.methods.find((one) => one.method === method)?.displayName;
    const [name] = method.split(".com");
    return known ?? { github: "GitHub", linkedin: "LinkedIn" }[name] ?? name[0].toUpperCase() + name.slice(1);
  };

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  say(text) {
    this.#status.textContent = text;
  }

  show(view) {
    const isFirst = !this.#view;
    this.#view = view;
    this.#body.replaceChildren();
    this.#draw();
    if (!isFirst) (this.#body.querySelector("input:not([readonly])") ?? this.#body.querySelector("h2"))?.focus();
  }

  #draw() {
    this.#options.language = this.tag;
    const typed = [...this.#body.querySelectorAll("input")].map(({ name, value }) => [name, value]);
    this.#body.replaceChildren(...(this.#view?.() ?? []).flat().filter(Boolean));
    for (const [name, value] of typed) {
      const field = this.#body.querySelector(`input[name=${name}]`);
      if (field) field.value ||= value;
    }
  }

  async run(action) {
    if (this.ariaBusy === "true") return;
    this.ariaBusy = "true";
    this.#alert.textContent = "";
    this.say("");
    try {
      await action();
    } catch (error) {
      await this.fail(error);
    } finally {
      this.ariaBusy = "false";
    }
  }

  fail(error) {
    if (!(error instanceof ConcordError)) reportError(error);
    this.emit("concord-error", { error });
    const code = String(error.code);
    this.warn((problems.find(([, codes]) => codes.test(code)) ?? ["failed"])[0]);
    if (!this.#view) this.#body.replaceChildren(this.button("next", () => this.start()));
  }

  warn(key, values) {
    this.#alert.textContent = this.t(key, values);
  }

  title = (key, values) => el("h2", { tabIndex: -1 }, this.t(key, values));

  note = (key, values) => el("p", {}, this.t(key, values));

  stops = ({ suspended = [] } = {}) =>
    suspended[0] && this.note("stops", { names: suspended.map(({ method }) => this.name(method)).join(", ") });

  button = (key, action, values, members) =>
    el("button", { type: "button", onclick: () => this.run(action), ...members }, this.t(key, values));

  field(name, key, members) {
    const code = { inputMode: "numeric", autocomplete: "one-time-code", pattern: "\\D*(\\d\\D*){6,8}" };
    const secret = { type: "password", autocomplete: key === "newPassword" ? "new-password" : "current-password" };
    const more = { email: { type: "email", autocomplete: "username" }, password: secret, code }[name];
    return el("label", {}, this.t(key), el("input", { name, required: true, ...more, ...members }));
  }

  form(key, action, fields, values) {
    const onsubmit = (event) => {
      event.preventDefault();
      const answer = Object.fromEntries(new FormData(form));
      answer.code &&= answer.code.replace(/\D/g, "");
      this.run(() => {
        const wrong = form.querySelector("input:invalid");
        for (const field of form.querySelectorAll("input")) field.ariaInvalid = field === wrong;
        if (!wrong) return action(answer);
        wrong.focus();
        this.warn("missing");
      });
    };
    const submit = el("button", { type: "submit" }, this.t(key, values));
    const form = el("form", { noValidate: true, onsubmit }, fields, submit);
    return form;
  }

  owner = () => this.email && this.field("email", "email", { value: this.email, readOnly: true });

  codeForm = (key, action) => this.form("next", action, this.field("code", key));

  section = (key, items, ...more) =>
    el("section", {}, el("h3", {}, this.t(key)), el("ul", {}, items.map((parts) => el("li", {}, parts))), more);

  memory(name, value) {
    const key = `concord:${this.concord.url}:${name}`;
    try {
      if (value === undefined) return JSON.parse(localStorage.getItem(key));
      localStorage.setItem(key, JSON.stringify(value));
    } catch {}
  }
}

export class ConcordSignIn extends Steps {
  #waiting = null;

  async start() {
    const { concord } = this;
    if (concord.uid && !this.isAgain) return concord.pageResult().then(() => this.#finish());
    this.project ??= await concord.signInPage();
    this.show(this.email || this.isAgain ? () => this.#ways() : () => this.#start());
    const returned = (await concord.redirectResult()) ?? (await concord.pageResult());
    if (returned?.idToken || returned?.asksFirst) return this.#take(returned);
    if (this.memory("conflict") && !this.isAgain) this.#openConflict(this.memory("conflict"));
  }

  async fail(error) {
    const { code, conflict, details } = error;
    if (conflict) {
      this.memory("conflict", conflict);
      this.emit("concord-conflict", { state: "open", conflict });
      return this.#openConflict(conflict);
    }
    const factor = code === "second-factor-required" && details.mfaInfo?.find((one) => "totpInfo" in one);
    if (!factor) return super.fail(error);
    const { mfaPendingCredential } = details;
    this.show(() => [
      this.title("confirm"),
      this.note("factor"),
      this.codeForm("shortCode", async ({ code: verificationCode }) => {
        const { mfaEnrollmentId } = factor;
        const proof = { mfaPendingCredential, mfaEnrollmentId, totpVerificationInfo: { verificationCode } };
        await this.#enter("v2/accounts/mfaSignIn:finalize", proof);
      }),
      this.#restart(),
    ]);
  }

  #openConflict(conflict) {
    const settle = () => this.#wait({ pendingToken: conflict.handle, ...conflict });
    const inner = el("concord-conflict", { concord: this.concord, project: this.project, conflict, settle });
    inner.addEventListener("concord-session", () => this.#finish(true));
    inner.addEventListener("concord-conflict", ({ detail }) => {
      if (detail.state === "resolved") return;
      this.show(() => this.#start());
      this.say(this.t("declined"));
    });
    this.show(() => [inner]);
  }

  #wait(credential) {
    this.#waiting = credential;
    this.show(() => this.#start());
  }

  #restart = () =>
    !this.isAgain &&
    this.button("other", () => {
      this.email = null;
      this.show(() => this.#start());
    });

  #offers = (method, known = this.methods) =>
    this.project.methods.some((one) => one.method === method) &&
    (!known || known.some((one) => one.method === method && one.works));

  #providers = (known) =>
    this.project.methods
      .map(({ method }) => method)
      .filter((method) => isProvider(method) && this.#offers(method, known))
      .map((method) => this.button("with", () => this.#provider(method), { name: method }));

  // Phone numbers and their challenges are on the server's page.
  #elsewhere = (known) =>
    this.#offers("phone", known) &&
    this.button("others", () => this.concord.openPage("signin", {
      lang: this.tag, ...(this.isAgain && { mode: "reauthenticate", methods: "phone" }),
    }));

  #start = () => [
    this.title(this.#waiting ? "have" : "signIn"),
    this.#waiting && this.note("waiting", { name: this.#waiting.providerId }),
    this.form(
      "next",
      async ({ email }) => {
        this.email = email;
        const known = this.memory("email") === email && (await this.concord.lookup({ email }));
        this.show(known?.methods ? () => this.#ways(known.methods) : () => this.#ways());
      },
      [this.field("email", "email", { value: this.#waiting?.email ?? this.memory("email") ?? "" })],
    ),
    this.#providers(),
    this.#elsewhere(),
    this.project.signUp.allowed && this.button("create", () => this.show(() => this.#signUp())),
  ];

  #ways = (known = this.methods, proof) => [
    this.title(this.isAgain ? "confirm" : "signIn"),
    this.stops(proof),
    this.#offers("password", known) &&
      this.form(
        "signIn",
        (values) => this.#enter("v1/accounts:signInWithPassword", values),
        [this.owner(), this.field("password", "password")],
      ),
    (known || this.isAgain) && this.#providers(known),
    !proof && this.email && this.button("mail", () => this.#mail()),
    proof?.signsIn && this.button("emailLink", () => this.#continue(proof)),
    proof && this.button("newPassword", () => this.#setPassword(proof)),
    (known || this.isAgain) && this.#elsewhere(known),
    this.#restart(),
  ];

  async #mail() {
    const { email } = this;
    const { methods } = await this.concord.lookup({ email });
    if (methods && !this.isAgain) return this.show(() => this.#ways(methods));
    this.show(() => [
      this.title("check"),
      this.note("sent", { email }),
      this.codeForm("code", async ({ code }) => {
        const proof = await this.concord.proveLookup({ email, code });
        if (proof.signsIn && !proof.suspended?.length) return this.#continue(proof);
        this.show(() => this.#ways(proof.methods, proof));
      }),
      this.button("mailCode", () => this.#mail()),
      this.#restart(),
    ]);
  }

  async #continue({ proofToken }) {
    await this.#take(await this.concord.continueLookup({ proofToken, way: "signIn" }));
  }

  async #setPassword({ proofToken }) {
    const { oobCode } = await this.concord.continueLookup({ proofToken, way: "setPassword" });
    this.show(() => [
      this.title("newPassword"),
      this.form(
        "signIn",
        async ({ email, password }) => {
          await this.concord.call("POST", "v1/accounts:resetPassword", { body: { oobCode, newPassword: password } });
          await this.#enter("v1/accounts:signInWithPassword", { email, password });
        },
        [this.owner(), this.field("password", "newPassword")],
      ),
    ]);
  }

  #signUp = () => [
    this.title("create"),
    this.form(
      "create",
      async (values) => {
        this.email = values.email;
        await this.#enter("v1/accounts:signUp", values).catch((error) => {
          if (this.project.signUp.requires === "none" || error.code !== "operation-not-allowed") throw error;
          this.show(() => [this.title("check"), this.note("link", values), this.#restart()]);
        });
      },
      [this.field("email", "email", { value: this.email ?? "" }), this.field("password", "newPassword")],
    ),
    this.button("have", () => this.show(() => this.#start())),
  ];

  async #provider(method) {
    const { concord, isAgain } = this;
    const options = isAgain
      ? { authType: "reauthViaPopup", body: { autoCreate: false } }
      : { body: { asksFirst: true } };
    const leave = () => concord.signInWithRedirect(method, options);
    if (this.hasAttribute("redirect")) return leave();
    const answer = await concord.signInWithPopup(method, options).catch((error) => {
      if (isAgain || error.code !== "popup-blocked") throw error;
      return leave();
    });
    if (answer) await this.#take(answer);
  }

  async #enter(path, members) {
    await this.#take(await this.concord.signIn(path, members));
  }

  async #take(answer) {
    const { pendingToken, providerId, email } = answer;
    if (answer.asksFirst) {
      const requestUri = location.origin;
      return this.show(() => [
        this.title("first"),
        el("p", {}, this.name(providerId)),
        this.button("create", () => this.#enter("v1/accounts:signInWithIdp", { pendingToken, requestUri })),
        this.button("have", () => this.#wait({ pendingToken, providerId })),
      ]);
    }
    this.memory("email", email ?? this.email ?? null);
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting) await this.#link(waiting);
    this.#finish();
  }

  // The person is signed in, also if the link fails.
  async #link({ pendingToken, providerId, handle }) {
    const idToken = await this.concord.idToken();
    try {
      await this.concord.signIn("v1/accounts:signInWithIdp", { idToken, pendingToken, requestUri: location.origin });
      this.say(this.t("resolved", { name: providerId }));
      if (!handle) return;
      this.memory("conflict", null);
      this.emit("concord-conflict", { state: "resolved", conflict: { handle, providerId } });
    } catch (error) {
      this.emit("concord-error", { error });
      this.warn("unlinked", { name: providerId });
    }
  }

  #finish(isSilent) {
    const { concord } = this;
    this.show(() => [this.title("done"), this.button("signOut", () => signOut(this))]);
    if (!isSilent) this.emit("concord-session", { uid: concord.uid });
  }
}

async function signOut(element) {
  const { concord } = element;
  await concord.idToken().then((token) => concord.endSession(claims(token).concord.session)).catch(() => {});
  leave(element);
  await element.start();
}

function leave(element) {
  element.concord.signOut();
  element.emit("concord-signed-out");
}

export class ConcordConflict extends Steps {
  async start() {
    this.conflict ??= this.memory("conflict");
    if (!this.conflict) return;
    this.memory("conflict", this.conflict);
    const { handle } = this.conflict;
    const { state, providerId, proof, email } = await this.concord.readConflict(handle);
    this.conflict.providerId ??= providerId;
    this.values = { name: providerId, email: this.conflict.email ?? email };
    if (handle.length === 43 || (state === "open" && proof?.attemptsLeft)) return this.#askCode();
    if (!/^(open|proven)$/.test(state)) return this.#end(state);
    this.show(() => [
      this.title("yours"),
      this.note("exists", this.values),
      this.button("mailCode", () => this.#mail()),
      this.#others(),
    ]);
  }

  fail(error) {
    if (/^conflict-/.test(error.code)) this.#end();
    super.fail(error);
  }

  #decline = () =>
    this.button("decline", async () => {
      const { handle } = this.conflict;
      if (handle.length > 43) await this.concord.declineConflict(handle);
      this.#end("declined");
    });

  #others = () => [this.settle && this.button("have", () => this.settle(this.conflict)), this.#decline()];

  async #mail() {
    await this.concord.startProof(this.conflict.handle, { kind: "mailbox" });
    this.#askCode();
  }

  #askCode() {
    const { handle } = this.conflict;
    const isSignUp = handle.length === 43;
    this.show(() => [
      this.title("check"),
      this.note("sent", this.values),
      this.codeForm("code", async (answer) => {
        if (!isSignUp) return this.#offer(await this.concord.completeProof(handle, answer));
        const { accountExists, proofToken } = await this.concord.proveSignUp(handle, answer);
        if (!accountExists) return this.#finish(await this.concord.createAccount(handle, { proofToken }));
        const linkable = await this.concord.linkSignUp(handle, { proofToken });
        this.memory("conflict", (this.conflict = { ...this.conflict, handle: linkable.pendingToken }));
        this.#offer(linkable);
      }),
      !isSignUp && this.button("mailCode", () => this.#mail()),
      this.#others(),
    ]);
  }

  #offer({ conflict, proofToken }) {
    this.show(() => [
      this.title("connect", this.values),
      this.note("proven", this.values),
      this.stops(conflict),
      conflict.replaced?.length > 0 && this.note("replaces", this.values),
      this.form(
        "connect",
        async () => this.#finish(await this.concord.resolveConflict(this.conflict.handle, { proofToken })),
        [],
        this.values,
      ),
      this.#decline(),
    ]);
  }

  #finish() {
    this.memory("email", this.conflict.email);
    this.#end("resolved");
    this.emit("concord-session", { uid: this.concord.uid });
  }

  #end(state) {
    const { conflict, values } = this;
    this.memory("conflict", (this.conflict = null));
    this.show(() => [this.title(state === "resolved" ? "resolved" : "declined", values)]);
    this.emit("concord-conflict", { state, conflict });
  }
}

export class ConcordAccount extends Steps {
  async start() {
    const { concord } = this;
    if (!concord.uid) return this.show(() => []);
    const [{ methods }, { sessions }, suspended, project, token] = await Promise.all([
      concord.methods(), concord.sessions(), concord.suspendedMethods(), concord.signInPage(), concord.idToken(),
    ]);
    Object.assign(this, { methods, sessions, suspended: suspended.methods, project, email: claims(token).email });
    this.show(() => this.#overview());
  }

  async fail(error) {
    const { concord, email, methods } = this;
    if (!/too-old|insufficient-user/.test(error.code)) {
      super.fail(error);
      if (error.code === "popup-blocked") this.show(() => this.#overview());
      if (error.code === "wrong-proof") this.warn("credentials");
      if (/user-not|session/.test(error.code)) concord.signOut();
      if (concord.uid) return;
      this.emit("concord-signed-out");
      return this.start();
    }
    const [action, { uid }] = [this.#action, concord];
    const inner = el("concord-signin", { concord, email, methods, isAgain: true });
    inner.addEventListener("concord-session", () => {
      if (concord.uid === uid) return inner.isConnected && this.run(this.#repeatable(action));
      this.run(async () => {
        await this.start();
        this.warn("taken");
      });
    });
    this.show(() => [inner, this.#cancel()]);
  }

  #action;

  #repeatable = (action) => async (answer) => {
    this.#action = () => action(answer);
    await action(answer);
    await this.start();
  };

  #cancel = () => this.button("cancel", () => this.show(() => this.#overview()));

  #act = (key, action, values, members) => this.button(key, this.#repeatable(action), values, members);

  #ask = (key, content, values, members) =>
    this.button(key, () => this.show(() => [this.title(key, values), content(), this.#cancel()]), values, members);

  #askFirst = (key, action, values, note) => {
    const members = { className: "danger" };
    return this.#ask(key, () => [note && this.note(note), this.#act(key, action, values, members)], values, members);
  };

  #askPassword = (key, label, action, values) => {
    const fields = () => [this.owner(), this.field("password", label)];
    return this.#ask(key, () => this.form(key, this.#repeatable(action), fields(), values), values);
  };

  #overview() {
    const { concord, methods, suspended, sessions } = this;
    const working = methods.filter(({ works }) => works);
    const added = new Set([...methods, ...suspended].map(({ method }) => method));
    const link = async (method) => {
      const body = { idToken: await concord.idToken() };
      await concord.signInWithPopup(method, { authType: "linkViaPopup", body });
    };
    const update = async ({ password }) => {
      const body = { idToken: await concord.idToken(), password, returnSecureToken: true };
      await concord.call("POST", "v1/accounts:update", { body });
    };
    const restore = ({ password }) => concord.restorePassword({ password });
    const remove = async () => {
      await concord.call("POST", "v1/accounts:delete", { body: { idToken: await concord.idToken() } });
      leave(this);
    };
    const connect = (method) => this.#act("connect", () => link(method), { name: method });
    const time = (text) => new Date(text).toLocaleString(this.tag || "en");
    const item = (method, status, act) =>
      [this.name(method), status && el("small", {}, this.t(status)), act({ name: method })];
    return [
      this.title("account"),
      this.email && el("p", {}, this.email),
      this.section(
        "methods",
        methods.map(({ method, works }) =>
          item(method, !works && "off", (values) =>
            !(works && working.length === 1) &&
            this.#askFirst("remove", () => concord.removeMethod(method), values))),
        this.email && this.#askPassword("newPassword", "newPassword", update),
        this.project.methods
          .map(({ method }) => method)
          .filter((method) => isProvider(method) && !added.has(method))
          .map(connect),
      ),
      suspended.length > 0 && this.section(
        "suspended",
        suspended.map(({ method }) =>
          item(method, null, (values) =>
            method === "password"
              ? this.#askPassword("restore", "password", restore, values)
              : isProvider(method) && connect(method))),
      ),
      this.section(
        "sessions",
        sessions.map(({ device, current, lastUseTime, sessionId }) => {
          const [name = "?"] = /Edg|Firefox|Chrome|Safari/.exec(device) ?? [device];
          const members = { ariaLabel: `${this.t("signOut")}: ${name}` };
          return [
            name,
            el("small", {}, current ? this.t("here") : this.t("last", { time: time(lastUseTime) })),
            !current && this.#act("signOut", () => concord.endSession(sessionId), {}, members),
          ];
        }),
        sessions.length > 1 && this.#act("endOthers", () => concord.endSessions({ keepCurrent: true })),
      ),
      el("a", { href: `${concord.url}/account` }, this.t("more")),
      this.button("signOut", () => signOut(this)),
      this.#askFirst("delete", remove, {}, "forGood"),
    ];
  }
}

customElements.define("concord-conflict", ConcordConflict);
customElements.define("concord-signin", ConcordSignIn);
customElements.define("concord-account", ConcordAccount);

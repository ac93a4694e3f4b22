// Documented in concord-elements.d.ts.

import { claims, Concord, ConcordError } from "./concord.js";

const words = new Map(
  `signIn|Sign in|登入|ลงชื่อเข้าใช้
email|Email address|電子郵件地址|ที่อยู่อีเมล
password|Password|密碼|รหัสผ่าน
emailLink|Email link|電子郵件連結|ลิงก์ทางอีเมล
phone|Phone number|電話號碼|หมายเลขโทรศัพท์
newPassword|New password|新密碼|รหัสผ่านใหม่
oldPassword|Old password|舊密碼|รหัสผ่านเดิม
code|8-digit code|8 位數驗證碼|รหัสยืนยัน 8 หลัก
shortCode|6-digit code|6 位數驗證碼|รหัสยืนยัน 6 หลัก
next|Continue|繼續|ดำเนินการต่อ
or|or|或|หรือ
cancel|Cancel|取消|ยกเลิก
with|Continue with {name}|使用 {name} 繼續|ดำเนินการต่อด้วย {name}
create|Create an account|建立帳戶|สร้างบัญชี
mail|Email me how to sign in|將登入方式寄給我|ส่งวิธีลงชื่อเข้าใช้ให้ฉันทางอีเมล
other|Use another address|使用其他電子郵件地址|ใช้ที่อยู่อีเมลอื่น
others|Sign in another way|使用其他方式登入|ลงชื่อเข้าใช้ด้วยวิธีอื่น
choose|Choose how to sign in|選擇登入方式|เลือกวิธีลงชื่อเข้าใช้
sent|We sent an email to {email}. Enter the code from the email here.|我們已寄出郵件到 {email}。請在此輸入郵件中的驗證碼。|เราส่งอีเมลไปที่ {email} แล้ว กรอกรหัสยืนยันจากอีเมลที่นี่
link|We sent an email to {email}. Open its link to continue.|我們已寄出郵件到 {email}。請開啟郵件中的連結以繼續。|เราส่งอีเมลไปที่ {email} แล้ว เปิดลิงก์ในอีเมลเพื่อดำเนินการต่อ
again|Send another email|重新寄送郵件|ส่งอีเมลอีกครั้ง
stops|These methods stop working, because they may belong to someone else: {names}. If they are yours, you can restore them afterwards.|以下登入方式將會停用，因為可能屬於其他人：{names}。如果是您的，您可以在之後復原。|วิธีต่อไปนี้จะใช้ไม่ได้ เพราะอาจเป็นของผู้อื่น: {names} หากเป็นของคุณ คุณกู้คืนได้ภายหลัง
setPassword|Set a password|設定密碼|ตั้งรหัสผ่าน
factor|Enter the code from your authenticator app.|請輸入驗證器應用程式中的驗證碼。|กรอกรหัสยืนยันจากแอปยืนยันตัวตนของคุณ
done|You are signed in|您已登入|คุณลงชื่อเข้าใช้แล้ว
retry|Try again|再試一次|ลองอีกครั้ง
signOut|Sign out|登出|ออกจากระบบ
first|Is this your first visit?|這是您第一次使用嗎？|คุณมาที่นี่ครั้งแรกใช่ไหม
firstText|No account is connected to this {name} sign-in yet.|這個 {name} 帳戶尚未連結到任何帳戶。|บัญชี {name} นี้ยังไม่ได้เชื่อมโยงกับบัญชีใด
have|I already have an account|我已經有帳戶|ฉันมีบัญชีอยู่แล้ว
waiting|Sign in to the account that you already have. {name} is connected to it afterwards.|請登入您已有的帳戶。登入後，{name} 會連結到該帳戶。|ลงชื่อเข้าใช้บัญชีที่คุณมีอยู่แล้ว จากนั้น {name} จะเชื่อมโยงกับบัญชีนั้น
unlinked|{name} could not be connected. Your account did not change.|無法連結 {name}。您的帳戶沒有變更。|เชื่อมโยง {name} ไม่ได้ บัญชีของคุณไม่เปลี่ยนแปลง
yours|Is this account yours?|這個帳戶是您的嗎？|บัญชีนี้เป็นของคุณใช่ไหม
exists|An account already exists, but {name} is not connected to it yet. Verify that the account is yours to connect it.|已經有一個帳戶，但尚未連結 {name}。請驗證那個帳戶是您的，以進行連結。|มีบัญชีอยู่แล้ว แต่ยังไม่ได้เชื่อมโยงกับ {name} โปรดยืนยันว่าบัญชีนั้นเป็นของคุณเพื่อเชื่อมโยง
mailCode|Email me a code|將驗證碼寄給我|ส่งรหัสยืนยันให้ฉันทางอีเมล
before|Sign in the way I did before|用先前的方式登入|ลงชื่อเข้าใช้ด้วยวิธีเดิม
decline|This was not me|這不是我|นี่ไม่ใช่ฉัน
check|Check your email|請查看您的電子郵件|โปรดตรวจสอบอีเมลของคุณ
connect|Connect {name}|連結 {name}|เชื่อมโยง {name}
proven|You verified that the account is yours. Connect {name} now to sign in with it.|您已驗證這個帳戶是您的。現在連結 {name}，就能用它登入。|คุณยืนยันแล้วว่าบัญชีนี้เป็นของคุณ เชื่อมโยง {name} ตอนนี้เพื่อใช้ลงชื่อเข้าใช้
replaces|This {name} account replaces the one that is connected now.|這個 {name} 帳戶會取代目前連結的帳戶。|บัญชี {name} นี้จะแทนที่บัญชีที่เชื่อมโยงอยู่
resolved|{name} is connected|已連結 {name}|เชื่อมโยง {name} แล้ว
declined|Nothing was connected|沒有連結任何項目|ไม่มีการเชื่อมโยงใดๆ
account|Your account|您的帳戶|บัญชีของคุณ
see|Sign in to see your account|登入以查看您的帳戶|ลงชื่อเข้าใช้เพื่อดูบัญชีของคุณ
methods|How you sign in|您的登入方式|วิธีลงชื่อเข้าใช้
works|works|可使用|ใช้งานได้
off|does not work|無法使用|ใช้ไม่ได้
remove|Remove {name}|移除{name}|นำ{name}ออก
lose|You will no longer be able to sign in with {name}.|您將不能再使用{name}登入。|คุณจะลงชื่อเข้าใช้ด้วย{name}ไม่ได้อีก
suspended|Suspended|已停用|ถูกระงับ
onlyYours|These do not work now. Restore a method only if you set it up yourself.|這些方式目前無法使用。只有您自己設定的方式才應該復原。|วิธีเหล่านี้ใช้ไม่ได้ในขณะนี้ กู้คืนเฉพาะวิธีที่คุณตั้งค่าเอง
restore|Restore {name}|復原{name}|กู้คืน{name}
sessions|Where you are signed in|您登入的裝置|อุปกรณ์ที่ลงชื่อเข้าใช้อยู่
unknown|Unknown device|不明的裝置|อุปกรณ์ที่ไม่รู้จัก
here|this device|這個裝置|อุปกรณ์นี้
last|Last active {time}|最近使用 {time}|ใช้งานล่าสุด {time}
endOthers|Sign out all other devices|登出所有其他裝置|ออกจากระบบบนอุปกรณ์อื่นทั้งหมด
more|More settings|更多設定|การตั้งค่าเพิ่มเติม
delete|Delete my account|刪除我的帳戶|ลบบัญชีของฉัน
forGood|This cannot be undone. You lose all sign-in methods of this account.|刪除後無法復原。您會失去這個帳戶的所有登入方式。|การลบนี้เลิกทำไม่ได้ คุณจะสูญเสียวิธีลงชื่อเข้าใช้ทั้งหมดของบัญชีนี้
confirm|Confirm that it is you|確認是您本人|ยืนยันว่าเป็นคุณ
no-email|Enter your email address, such as name@example.com.|請輸入您的電子郵件地址，例如 name@example.com。|โปรดกรอกที่อยู่อีเมลของคุณ เช่น name@example.com
no-password|Enter your password.|請輸入您的密碼。|โปรดกรอกรหัสผ่านของคุณ
no-code|Enter all digits of the code.|請輸入驗證碼的所有數字。|โปรดกรอกรหัสยืนยันให้ครบ
credentials|The address or the password is wrong. Try again.|地址或密碼不正確。請再試一次。|ที่อยู่อีเมลหรือรหัสผ่านไม่ถูกต้อง โปรดลองอีกครั้ง
wrong|The code is wrong or too old. Use the newest one.|驗證碼不正確或已過期。請使用最新的驗證碼。|รหัสยืนยันไม่ถูกต้องหรือเก่าเกินไป โปรดใช้รหัสล่าสุด
weak|This password does not meet the requirements. Choose another one.|這個密碼不符合要求。請選擇其他密碼。|รหัสผ่านนี้ไม่เป็นไปตามข้อกำหนด โปรดตั้งรหัสผ่านอื่น
taken|This belongs to another account. Sign in to that account.|這屬於另一個帳戶。請登入那個帳戶。|สิ่งนี้เป็นของบัญชีอื่น โปรดลงชื่อเข้าใช้บัญชีนั้น
many|Too many attempts. Wait a while and try again.|嘗試次數太多。請稍候再試。|มีการลองหลายครั้งเกินไป โปรดรอสักครู่แล้วลองอีกครั้ง
offline|The service does not answer. Try again soon.|服務沒有回應。請稍後再試。|บริการไม่ตอบสนอง โปรดลองอีกครั้งในไม่ช้า
ended|This request no longer exists. Sign in again.|這個要求已不存在。請重新登入。|คำขอนี้ไม่มีอยู่แล้ว โปรดลงชื่อเข้าใช้อีกครั้ง
closed|You cancelled the sign-in at the provider. Try again.|您已取消登入。請再試一次。|คุณยกเลิกการลงชื่อเข้าใช้ที่ผู้ให้บริการ โปรดลองอีกครั้ง
disabled|The account is disabled.|帳戶已停用。|บัญชีถูกปิดใช้
only|This is the only method that still works. Add another one before you remove it.|這是唯一仍可使用的方式。移除前請先新增另一種。|นี่เป็นวิธีเดียวที่ยังใช้งานได้ เพิ่มวิธีอื่นก่อนที่จะนำวิธีนี้ออก
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
  ["closed", /popup-closed|cancelled/],
  ["disabled", /user-disabled/],
  ["only", /last-sign-in-method/],
  ["no-email", /email/],
];

const style = new CSSStyleSheet();
style.replaceSync(`@layer concord {
concord-signin, concord-conflict, concord-account {
  --a: var(--concord-accent, light-dark(#1d56c9, #8db4ff));
  --o: var(--concord-on-accent, light-dark(#fff, #0c1730));
  --b: var(--concord-background, light-dark(#fff, #191f27));
  --t: var(--concord-text, light-dark(#1a2028, #e9edf2));
  --q: var(--concord-quiet, light-dark(#535e6b, #a7b2bf));
  --l: var(--concord-line, light-dark(#7b8694, #7f8b9a));
  --e: var(--concord-error, light-dark(#a1221b, #ffb4ac));
  --r: var(--concord-radius, .625rem);
  display: block;
  color: var(--t);
  background: var(--b);
  line-height: 1.6;
  overflow-wrap: anywhere;
  & :is(div, form, section) { display: grid; gap: .75rem; }
  & section { margin-top: 1rem; }
  & :is(h2, h3, p, ul) { margin: 0; padding: 0; }
  & h2 { font-size: 1.375rem; line-height: 1.4; }
  & h3 { font-size: 1rem; }
  & :is(input, button, a) { box-sizing: border-box; width: 100%; min-height: 3rem; padding: .375rem .75rem; border: 1px solid var(--l); border-radius: var(--r); background: var(--b); color: var(--t); font: inherit; }
  & label { font-weight: 600; }
  & input { display: block; margin-top: .25rem; font-weight: 400; }
  & :is(button, a) { display: grid; place-items: center; color: var(--a); font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
  & button[type=submit] { border-color: var(--a); background: var(--a); color: var(--o); }
  & .danger { color: var(--e); }
  & :focus-visible { outline: 3px solid var(--a); outline-offset: 2px; }
  & li { display: grid; gap: .25rem; padding: .75rem 0; border-top: 1px solid var(--l); font-weight: 600; }
  & small { color: var(--q); font-size: .9375rem; font-weight: 400; }
  & [role=alert] { padding: .75rem; border: 1px solid; border-radius: var(--r); color: var(--e); }
  & [role=status] { color: var(--q); }
  & > p { margin-bottom: .75rem; }
  & > p:empty { display: none; }
  &[aria-busy=true] button { opacity: .6; cursor: progress; }
}}`);

function el(tag, members, ...children) {
  const node = Object.assign(document.createElement(tag), members);
  node.append(...children.flat().filter(Boolean));
  return node;
}

function memory(key, value) {
  try {
    if (value === undefined) return JSON.parse(localStorage.getItem(key));
    localStorage.setItem(key, JSON.stringify(value));
  } catch {}
}

const clients = new Map();

function nameOf(method, t, project) {
  if (words.has(method)) return t(method);
  const known = project?.methods.find((one) => one.method === method)?.displayName;
  const [name] = (method ?? "").replace(/^(oidc|saml)\./, "").split(".com");
  return known ?? { github: "GitHub", linkedin: "LinkedIn" }[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
}

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
    // The page's own module runs first, and may set properties and listeners.
    setTimeout(() => signal.aborted || this.#begin());
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

  get #tag() {
    return this.closest("[lang]")?.lang ?? "";
  }

  t = (key, values = {}) => {
    const text = words.get(key)[{ zh: 1, th: 2 }[this.#tag.slice(0, 2)] ?? 0];
    return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  };

  name = (method) => nameOf(method, this.t, this.project);

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  say(text) {
    this.#status.textContent = text;
  }

  // Each step is a function that returns its content, so that it can be drawn in another language.
  show(view) {
    const isFirst = !this.#view;
    this.#view = view;
    this.#draw();
    if (!isFirst) (this.#body.querySelector("input:not([readonly])") ?? this.#body.querySelector("h2"))?.focus();
  }

  #draw() {
    this.#options.language = this.#tag;
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
    if (!this.#view) this.#body.replaceChildren(this.button("retry", () => this.start()));
  }

  warn(key, values) {
    this.#alert.textContent = this.t(key, values);
  }

  title = (key, values) => el("h2", { tabIndex: -1 }, this.t(key, values));

  note = (key, values) => el("p", {}, this.t(key, values));

  button = (key, action, values, members) =>
    el("button", { type: "button", onclick: () => this.run(action), ...members }, this.t(key, values));

  field(name, key, members) {
    const code = { inputMode: "numeric", autocomplete: "one-time-code", pattern: "\\D*(\\d\\D*){6,8}" };
    const secret = { type: "password", autocomplete: key === "newPassword" ? "new-password" : "current-password" };
    const more = { email: { type: "email", autocomplete: "username" }, password: secret, code }[name];
    return el("label", {}, this.t(key), el("input", { name, required: true, ...more, ...members }));
  }

  form(key, action, ...children) {
    const onsubmit = (event) => {
      event.preventDefault();
      const values = Object.fromEntries(new FormData(form));
      if (values.code) values.code = values.code.replace(/\D/g, "");
      this.run(() => {
        for (const field of form.querySelectorAll("input")) {
          field.ariaInvalid = String(!field.checkValidity());
          if (field.ariaInvalid === "false") continue;
          field.focus();
          return this.warn(`no-${field.name}`);
        }
        return action(values);
      });
    };
    const form = el("form", { noValidate: true, onsubmit }, children, el("button", { type: "submit" }, this.t(key)));
    return form;
  }

  codeForm = (key, action) => this.form("next", action, this.field("code", key));

  list = (items) => el("ul", {}, items.map((parts) => el("li", {}, parts)));

  get #key() {
    return `concord:${this.concord.url}`;
  }

  get waitingConflict() {
    const found = memory(`${this.#key}:conflict`);
    return found && Date.now() < found.until ? found : null;
  }

  set waitingConflict(conflict) {
    memory(`${this.#key}:conflict`, conflict && { until: Date.now() + 3_600_000, ...conflict });
  }

  get lastEmail() {
    return memory(`${this.#key}:email`);
  }

  set lastEmail(email) {
    memory(`${this.#key}:email`, email);
  }
}

export class ConcordSignIn extends Steps {
  // A credential that is linked after the next sign-in.
  #waiting = null;

  async start() {
    const { concord } = this;
    if (concord.uid && !this.isAgain) return this.#finish();
    this.project ??= await concord.signInPage();
    this.show(this.email ? () => this.#ways() : () => this.#start());
    const returned = (await concord.redirectResult()) ?? (await concord.pageResult());
    if (returned?.idToken || returned?.asksFirst) return this.#take(returned);
    if (this.waitingConflict && !this.isAgain) this.#openConflict(this.waitingConflict);
  }

  async fail(error) {
    const { code, conflict, details } = error;
    if (conflict) {
      this.waitingConflict = conflict;
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
    this.show(() => [inner, this.#restart()]);
  }

  // The credential stays stored until it is linked.
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
      .map((method) => this.button("with", () => this.#provider(method), { name: this.name(method) }));

  // Phone numbers and their challenges are on the server's page.
  #elsewhere = (known) =>
    this.#offers("phone", known) &&
    this.button("others", () => this.concord.openPage("signin", { lang: this.closest("[lang]")?.lang }));

  #start = () => [
    this.title(this.#waiting ? "have" : "signIn"),
    this.#waiting && this.note("waiting", { name: this.name(this.#waiting.providerId) }),
    this.form(
      "next",
      async ({ email }) => {
        this.email = email;
        // The device of this address gets its methods without a mail.
        const known = this.lastEmail === email && (await this.concord.lookup({ email }));
        this.show(known?.methods ? () => this.#ways(known.methods) : () => this.#ways());
      },
      this.field("email", "email", { value: this.#waiting?.email ?? this.lastEmail ?? "" }),
    ),
    this.#providers(),
    this.#elsewhere(),
    this.project.signUp.allowed && this.button("create", () => this.show(() => this.#signUp())),
  ];

  #ways = (known = this.methods, proof) => [
    this.title(this.isAgain ? "confirm" : proof ? "choose" : "signIn"),
    this.#offers("password", known) &&
      this.form(
        "signIn",
        (values) => this.#enter("v1/accounts:signInWithPassword", values),
        this.field("email", "email", { value: this.email, readOnly: true }),
        this.field("password", "password"),
      ),
    (known || this.isAgain) && this.#providers(known),
    !proof && this.button("mail", () => this.#mail()),
    proof?.signsIn && this.button("emailLink", () => this.#continue(proof)),
    proof && this.button("setPassword", () => this.#setPassword(proof)),
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
        const { suspended, signsIn, methods } = proof;
        if (signsIn && !suspended?.length) return this.#continue(proof);
        const names = suspended?.map(({ method }) => this.name(method)).join(", ");
        this.show(() => [names && this.note("stops", { names }), this.#ways(methods, proof)]);
      }),
      this.button("again", () => this.#mail()),
      this.#restart(),
    ]);
  }

  async #continue({ proofToken }) {
    await this.#take(await this.concord.continueLookup({ proofToken, way: "signIn" }));
  }

  async #setPassword({ proofToken }) {
    const { oobCode } = await this.concord.continueLookup({ proofToken, way: "setPassword" });
    this.show(() => [
      this.title("setPassword"),
      this.form(
        "signIn",
        async ({ email, password }) => {
          await this.concord.call("POST", "v1/accounts:resetPassword", { body: { oobCode, newPassword: password } });
          await this.#enter("v1/accounts:signInWithPassword", { email, password });
        },
        this.field("email", "email", { value: this.email, readOnly: true }),
        this.field("password", "newPassword"),
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
      this.field("email", "email", { value: this.email ?? "" }),
      this.field("password", "newPassword"),
    ),
    this.button("have", () => this.show(() => this.#start())),
  ];

  async #provider(method) {
    const { concord, isAgain } = this;
    const options = { body: isAgain ? { autoCreate: false } : { asksFirst: true } };
    const leave = () => concord.signInWithRedirect(method, options);
    if (this.hasAttribute("redirect")) return leave();
    const answer = await concord.signInWithPopup(method, options).catch((error) => {
      if (error.code !== "popup-blocked") throw error;
      return leave();
    });
    if (answer) await this.#take(answer);
  }

  async #enter(path, members) {
    await this.#take(await this.concord.signIn(path, { returnSecureToken: true, ...members }));
  }

  async #take(answer) {
    const { pendingToken, providerId, email } = answer;
    if (answer.asksFirst) {
      const name = this.name(providerId);
      const requestUri = location.origin;
      return this.show(() => [
        this.title("first"),
        this.note("firstText", { name }),
        this.button("create", () => this.#enter("v1/accounts:signInWithIdp", { pendingToken, requestUri })),
        this.button("have", () => this.#wait({ pendingToken, providerId })),
      ]);
    }
    if (email ?? this.email) this.lastEmail = email ?? this.email;
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
      this.say(this.t("resolved", { name: this.name(providerId) }));
      if (!handle) return;
      this.waitingConflict = null;
      this.emit("concord-conflict", { state: "resolved", conflict: { handle, providerId } });
    } catch (error) {
      this.emit("concord-error", { error });
      this.warn("unlinked", { name: this.name(providerId) });
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
    this.conflict ??= this.waitingConflict;
    if (!this.conflict) return;
    this.waitingConflict = this.conflict;
    const { handle } = this.conflict;
    const { state, providerId, proof } = await this.concord.readConflict(handle);
    this.conflict.providerId ??= providerId;
    this.values = { name: this.name(providerId), email: this.conflict.email };
    // A credential that waits for its mailbox: its mail is sent already.
    if (handle.length === 43 || proof?.attemptsLeft) return this.#askCode();
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

  #others = () => [
    this.settle && this.button("before", () => this.settle(this.conflict)),
    this.button("decline", async () => {
      if (this.conflict.handle.length > 43) await this.concord.declineConflict(this.conflict.handle);
      this.#end("declined");
    }),
  ];

  async #mail() {
    await this.concord.startProof(this.conflict.handle, { kind: "mailbox" });
    this.#askCode();
  }

  #askCode() {
    const { handle } = this.conflict;
    const isSignUp = handle.length === 43;
    this.show(() => [
      this.title("check"),
      this.note("sent", { email: this.t("email"), ...this.values }),
      this.codeForm("code", async (answer) => {
        if (!isSignUp) return this.#offer(await this.concord.completeProof(handle, answer));
        const { accountExists, proofToken } = await this.concord.proveSignUp(handle, answer);
        if (!accountExists) return this.#finish(await this.concord.createAccount(handle, { proofToken }));
        const linkable = await this.concord.linkSignUp(handle, { proofToken });
        this.waitingConflict = this.conflict = { ...this.conflict, handle: linkable.pendingToken };
        this.#offer(linkable);
      }),
      !isSignUp && this.button("again", () => this.#mail()),
      this.#others(),
    ]);
  }

  #offer({ conflict, proofToken }) {
    const { signInMethods = [], suspended = [], replaced = [] } = conflict;
    const stopping = suspended.map(({ method }) => method);
    this.show(() => [
      this.title("connect", this.values),
      this.note("proven", this.values),
      this.list(signInMethods.map((method) => [
        this.name(method),
        el("small", {}, this.t(stopping.includes(method) ? "off" : "works")),
      ])),
      stopping.length > 0 && this.note("stops", { names: stopping.map(this.name).join(", ") }),
      replaced.length > 0 && this.note("replaces", this.values),
      this.form("connect", async () =>
        this.#finish(await this.concord.resolveConflict(this.conflict.handle, { proofToken })),
      ),
      this.button("decline", async () => {
        await this.concord.declineConflict(this.conflict.handle);
        this.#end("declined");
      }),
    ]);
  }

  #finish() {
    this.#end("resolved");
    this.emit("concord-session", { uid: this.concord.uid });
  }

  #end(state) {
    const { conflict, values } = this;
    this.waitingConflict = this.conflict = null;
    this.show(() => [this.title(state === "resolved" ? "resolved" : "declined", values)]);
    this.emit("concord-conflict", { state, conflict });
  }
}

export class ConcordAccount extends Steps {
  async start() {
    const { concord } = this;
    if (!concord.uid) return this.show(() => [this.title("see")]);
    const [{ methods }, { sessions }, suspended, project, token] = await Promise.all([
      concord.methods(), concord.sessions(), concord.suspendedMethods(), concord.signInPage(), concord.idToken(),
    ]);
    Object.assign(this, { methods, sessions, suspended: suspended.methods, project, email: claims(token).email });
    this.show(() => this.#overview());
  }

  async fail(error) {
    const { concord, email, methods } = this;
    if (!/too-old|insufficient-user/.test(error.code)) {
      await super.fail(error);
      if (!concord.uid) this.emit("concord-signed-out");
      return;
    }
    const [action, { uid }] = [this.#action, concord];
    const inner = el("concord-signin", { concord, email, methods, isAgain: true });
    inner.addEventListener("concord-session", () => {
      if (concord.uid === uid) return this.#do(action);
      this.run(async () => {
        await this.start();
        this.warn("taken");
      });
    });
    this.show(() => [inner, this.#cancel()]);
  }

  #action;

  // Repeated after the person has signed in again.
  #do = (action) =>
    this.run(async () => {
      this.#action = action;
      await action();
      await this.start();
    });

  #cancel = () => this.button("cancel", () => this.show(() => this.#overview()));

  #act = (key, action, values, members) =>
    this.button(key, null, values, { onclick: () => this.#do(action), ...members });

  // A step that asks before the press.
  #ask = (key, content, action, values, members) =>
    this.button(key, () => this.show(() => [
      this.title(key, values), content(), this.#act(key, action, values, { className: "danger" }), this.#cancel(),
    ]), values, members);

  #askPassword = (key, label, action, values) =>
    this.button(key, () => this.show(() => {
      const form = this.form(key, () => {}, this.field("password", label));
      form.querySelector("button").textContent = this.t(key, values);
      const check = form.onsubmit;
      form.onsubmit = (event) => {
        const { value: password } = form.elements.password;
        if (!password) return check(event);
        event.preventDefault();
        this.#do(() => action(password));
      };
      return [this.title(key, values), form, this.#cancel()];
    }), values);

  #overview() {
    const { concord, methods, suspended, sessions } = this;
    const working = methods.filter(({ works }) => works);
    const added = new Set([...methods, ...suspended].map(({ method }) => method));
    const link = async (method) => {
      const body = { idToken: await concord.idToken() };
      await concord.signInWithPopup(method, { authType: "linkViaPopup", body });
    };
    const update = async (password) => {
      const body = { idToken: await concord.idToken(), password, returnSecureToken: true };
      await concord.call("POST", "v1/accounts:update", { body });
    };
    const time = (text) => new Date(text).toLocaleString(this.closest("[lang]")?.lang || "en");
    return [
      this.title("account"),
      this.email && el("p", {}, this.email),
      el("section", {}, el("h3", {}, this.t("methods")), this.list(methods.map(({ method, works }) => {
        const values = { name: this.name(method) };
        return [
          values.name,
          el("small", {}, this.t(works ? "works" : "off")),
          !(works && working.length === 1) &&
            this.#ask("remove", () => this.note("lose", values), () => concord.removeMethod(method), values),
        ];
      })),
      this.email && this.#askPassword("setPassword", "newPassword", update),
      this.project.methods
        .map(({ method }) => method)
        .filter((method) => isProvider(method) && !added.has(method))
        .map((method) => this.#act("connect", () => link(method), { name: this.name(method) }))),
      suspended.length > 0 && el("section", {}, el("h3", {}, this.t("suspended")), this.note("onlyYours"),
        this.list(suspended.map(({ method }) => {
          const values = { name: this.name(method) };
          return [
            values.name,
            method === "password"
              ? this.#askPassword("restore", "oldPassword", (password) => concord.restorePassword({ password }), values)
              : isProvider(method) && this.#act("connect", () => link(method), values),
          ];
        }))),
      el("section", {}, el("h3", {}, this.t("sessions")), this.list(sessions.map((session) => {
        const { device, current, lastUseTime, sessionId } = session;
        return [
          deviceOf(device) ?? this.t("unknown"),
          el("small", {}, current ? this.t("here") : this.t("last", { time: time(lastUseTime) })),
          !current && this.#act("signOut", () => concord.endSession(sessionId)),
        ];
      })),
      sessions.length > 1 && this.#act("endOthers", () => concord.endSessions({ keepCurrent: true }))),
      el("section", {},
        el("a", { href: `${concord.url}/account` }, this.t("more")),
        this.button("signOut", () => signOut(this)),
        this.#ask("delete", () => this.note("forGood"), async () => {
          await concord.call("POST", "v1/accounts:delete", { body: { idToken: await concord.idToken() } });
          leave(this);
        }, {}, { className: "danger" })),
    ];
  }
}

function deviceOf(agent = "") {
  const names = [/Edg|Firefox|Chrome|Safari/, /Windows|iPhone|iPad|Android|Mac|Linux/];
  return names.map((name) => name.exec(agent)?.[0]).filter(Boolean).join(", ") || null;
}

customElements.define("concord-conflict", ConcordConflict);
customElements.define("concord-signin", ConcordSignIn);
customElements.define("concord-account", ConcordAccount);

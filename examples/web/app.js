// An app with accounts: sign in, meet a conflict, settle it, reauthenticate, delete. It uses the plain API of the web
// client; elements.html is the same app with custom elements.

import { claims, Concord } from "./concord.js";
import { config } from "./config.js";

const concord = new Concord({ ...config, language: document.documentElement.lang, storage: "localStorage" });
const problem = document.getElementById("problem");

// Shows one form. Resolves with its fields and the value of the button that was pressed.
function ask(id, values = {}) {
  for (const form of document.forms) form.hidden = form.id !== id;
  const form = document.getElementById(id);
  form.reset();
  for (const text of form.querySelectorAll("[data-text]")) text.textContent = values[text.dataset.text] ?? "";
  for (const field of form.querySelectorAll("input")) field.value = values[field.name] ?? "";
  form.querySelector("input:not([readonly]), button").focus();
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      problem.textContent = "";
      resolve({ ...Object.fromEntries(new FormData(form)), button: event.submitter.value });
    };
  });
}

async function signIn() {
  const { button, email, password } = await ask("sign-in");
  const provider = () => concord.signInWithPopup(button);
  const path = button === "sign-up" ? "v1/accounts:signUp" : "v1/accounts:signInWithPassword";
  const own = () => concord.signIn(path, { email, password });
  await orConflict(button.includes(".") ? provider : own);
}

// begin: conflict
// Stored, so that a reload continues with it.
async function orConflict(signIn) {
  await signIn().catch((error) => {
    if (!error.conflict) throw error;
    localStorage.setItem("conflict", JSON.stringify(error.conflict));
  });
}

async function settle(conflict) {
  const { handle, email } = conflict;
  // The project confirms addresses, and an account may not exist yet: the server's page continues.
  if (handle.length === 43) return leave(handle);
  const { button } = await ask("conflict", { email });
  if (button === "decline") await concord.declineConflict(handle);
  if (button === "before") {
    const { password, button } = await ask("password", { email });
    if (button === "cancel") return;
    await concord.signIn("v1/accounts:signInWithPassword", { email, password, pendingToken: handle });
  }
  if (button === "mail") {
    await concord.startProof(handle, { kind: "mailbox" });
    const { code } = await ask("code");
    const { proofToken, conflict } = await concord.completeProof(handle, { code });
    const stops = (conflict.suspended ?? []).map(({ method }) => method).join(", ");
    if (stops) await ask("link", { stops });
    await concord.resolveConflict(handle, { proofToken });
  }
  localStorage.removeItem("conflict");
}
// end: conflict

async function leave(handle) {
  localStorage.removeItem("conflict");
  await concord.openPage("conflict", { handle });
  await new Promise(() => {});
}

async function account() {
  const answer = await concord.methods().catch(async (error) => {
    report(error);
    if (/user-not|session/.test(error.code)) return concord.signOut();
    // The loop repeats the call.
    await new Promise((resolve) => setTimeout(resolve, 2000));
  });
  if (!answer) return;
  const { methods } = answer;
  const { email } = claims(await concord.idToken());
  const { button } = await ask("account", { email, methods: methods.map(({ method }) => method).join(", ") });
  if (button === "delete") await remove().catch(async (error) => {
    if (error.code !== "credential-too-old-login-again") throw error;
    if (await reauthenticate(methods, email)) await remove();
  });
  if (button === "sign-out") await signOut();
}

// True if the same person has signed in again.
async function reauthenticate(methods, email) {
  const { uid } = concord;
  const provider = methods.map(({ method }) => method).find((method) => method.includes("."));
  const hasPassword = methods.some(({ method }) => method === "password");
  const { button, password } = await ask(hasPassword ? "password" : "again", { email });
  if (button === "cancel") return false;
  if (hasPassword) await concord.signIn("v1/accounts:signInWithPassword", { email, password });
  else await concord.signInWithPopup(provider, { authType: "reauthViaPopup", body: { autoCreate: false } });
  return concord.uid === uid;
}

async function remove() {
  await concord.call("POST", "v1/accounts:delete", { body: { idToken: await concord.idToken() } });
  concord.signOut();
}

async function signOut() {
  await concord.endSession(claims(await concord.idToken()).concord.session);
  concord.signOut();
}

const texts = {
  "invalid-login-credentials": "The address or the password is wrong.",
  // Without enumeration protection, as in development.
  "invalid-password": "The address or the password is wrong.",
  "email-not-found": "The address or the password is wrong.",
  "email-exists": "An account with this address already exists. Sign in to it.",
  "wrong-proof": "The code is wrong. Use the newest email.",
  "network-request-failed": "There is no connection to the service. Try again.",
};

const report = (error) => {
  if (/^conflict-/.test(error.code)) localStorage.removeItem("conflict");
  problem.textContent = texts[error.code] ?? `This did not work: ${error.message}`;
};

await concord.pageResult().catch(report);
for (;;) {
  try {
    const conflict = JSON.parse(localStorage.getItem("conflict"));
    if (concord.uid) await account();
    else if (conflict) await settle(conflict);
    else await signIn();
  } catch (error) {
    report(error);
  }
}

// What the types allow and refuse. Checked, and never run:
//
//   tsc --noEmit --strict --target es2022 --module es2022 --moduleResolution node clients/web/types.test.ts

import { claims, Concord, ConcordError, ConcordPopupRedirectResolver, connect, version } from "./concord.js";
import type { ConflictValue, Merge, MergePreview } from "./concord.js";

const concord = new Concord({ url: "https://id.example.com", apiKey: "key", storage: "localStorage" });
new Concord({ url: "https://id.example.com", apiKey: "key", idToken: async () => "token" });
// @ts-expect-error: an API key is required.
new Concord({ url: "https://id.example.com" });
// @ts-expect-error: the storage is named.
new Concord({ url: "https://id.example.com", apiKey: "key", storage: localStorage });

export async function settle(password: string): Promise<string> {
  let conflict: ConflictValue | undefined;
  try {
    const { idToken } = await concord.signInWithPopup("github.com", { scopes: ["user:email"] });
    // @ts-expect-error: a sign-in that asks first has no token.
    return idToken.length;
  } catch (error) {
    if (!(error instanceof ConcordError)) throw error;
    if (error.code !== "account-exists-with-different-credential") throw error;
    conflict = error.conflict;
  }
  if (!conflict) return version;
  localStorage.setItem("conflict", JSON.stringify(conflict));
  const proof = await concord.startProof(conflict.handle, { kind: "mailbox" });
  // @ts-expect-error: a session as proof needs its token.
  await concord.startProof(conflict.handle, { kind: "session" });
  const { proofToken } = await concord.completeProof(conflict.handle, { code: "0123 4567" });
  const answer = await concord.resolveConflict(
    conflict.handle,
    { proofToken },
    { headers: { "If-Match": proof.headers.get("ETag") ?? "*" } },
  );
  await concord.restorePassword({ password });
  return claims(answer.idToken).concord.session;
}

export async function look(): Promise<void> {
  const { methods } = await concord.lookup({ email: "ada@example.com" });
  // @ts-expect-error: a browser that the account does not know gets no methods.
  methods.length;
  const proven = await concord.proveLookup({ email: "ada@example.com", code: "0123 4567" });
  await concord.continueLookup({ proofToken: proven.proofToken, way: "signIn" });
  // @ts-expect-error: there is no such way.
  await concord.continueLookup({ proofToken: proven.proofToken, way: "phone" });
  const preview: MergePreview = await concord.merge({ absorbedIdToken: "token", validateOnly: true });
  const merge: Merge = await concord.merge({ absorbedIdToken: "token", choices: { email: "survivor" } });
  await concord.undoMerge(merge.id);
  const { features } = await concord.about();
  if (features.includes("lookup") && preview.undecided.length > 0) concord.signOut();
}

declare const auth: { name: string };
declare const sdkResolver: { readonly brand: unique symbol };
connect(auth, "https://id.example.com");
const resolver: typeof sdkResolver = ConcordPopupRedirectResolver(sdkResolver);
export { resolver };

// The elements.

import "./concord-elements.js";

const element = document.createElement("concord-signin");
element.concord = concord;
element.email = "ada@example.com";
element.addEventListener("concord-session", ({ detail }) => detail.uid.length);
document.createElement("concord-conflict").addEventListener("concord-conflict", ({ detail }) => {
  // @ts-expect-error: without a state, the server no longer has the conflict.
  detail.state.length;
});
// @ts-expect-error: a method says if it works.
element.methods = [{ method: "password" }];

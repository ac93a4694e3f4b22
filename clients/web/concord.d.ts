/**
 * A client of Concord for web pages: its API, a session, and what an unmodified Firebase JS SDK needs.
 *
 * One ES module, no dependency, no build step. It runs in pages on HTTPS and on this machine, because browsers compute
 * digests there only. Its requests need `connect-src` of the server in the content security policy of the page, and
 * nothing else: no frame, no library of Google's, no inline script.
 */

/** The version of this module, which is that of the server that it was released with. */
export const version: string;

/** Returns the claims of an ID token. It does not verify the token: the server does. */
export function claims(idToken: string): Claims;

export interface Claims {
  sub: string;
  aud: string;
  iss: string;
  exp: number;
  iat: number;
  auth_time: number;
  concord: { session: string; epoch: number };
  [claim: string]: unknown;
}

/** A failure of a call. Every promise of this module rejects with one. */
export class ConcordError extends Error {
  constructor(code: string, details?: Record<string, unknown>, more?: Partial<ConcordError>);
  /**
   * The failure:
   * - of Concord's own routes the end of the problem's type, such as `conflict-expired`;
   * - of the compatible API its code with dashes, such as `email-exists`;
   * - `account-exists-with-different-credential`: `conflict` is the value to continue with;
   * - `second-factor-required`: `details.mfaPendingCredential` and `details.mfaInfo`, for `v2/accounts/mfaSignIn:…`;
   * - `network-request-failed`: no answer, or half of one; `invalid-answer`: an answer that is not JSON;
   * - `no-session`: no user is signed in, or a token came back for another account;
   * - `insecure-url`, `already-started`, `invalid-state`, `operation-not-supported-in-this-environment`;
   * - `popup-blocked`, `popup-closed-by-user`, `redirect-cancelled-by-user`, `invalid-auth-event`.
   */
  readonly code: Code;
  /** The `type` of a problem document (RFC 9457). */
  readonly type?: string;
  /** Status of the answer; absent without one. */
  readonly status?: number;
  /** The address that the refused sign-in was about, if the server names it. */
  readonly email?: string;
  /** The conflict that the sign-in opened, or the sign-up that waits for its mailbox. */
  readonly conflict?: ConflictValue;
  /** The problem document, the error of the compatible API, or the answer. */
  readonly details: Record<string, unknown>;
  /** Fields of the answer: `Retry-After`, `Concord-Decision`. Absent without an answer. */
  readonly headers?: Headers;
}

// Known codes complete in editors; the server may add more.
export type Code =
  | "account-exists-with-different-credential" | "second-factor-required" | "network-request-failed" | "invalid-answer"
  | "no-session" | "insecure-url" | "already-started" | "invalid-state" | "operation-not-supported-in-this-environment"
  | "popup-blocked" | "popup-closed-by-user" | "redirect-cancelled-by-user" | "invalid-auth-event"
  | ProblemCode | (string & {});

export type ProblemCode =
  | "choices-needed" | "code-unusable" | "conflict-closed" | "conflict-expired" | "conflict-unknown"
  | "content-too-large" | "foreign-page" | "idempotency-key-reused" | "identity-in-use"
  | "insufficient-user-authentication" | "internal-error" | "invalid-session" | "last-sign-in-method"
  | "later-changes" | "malformed-request" | "merge-closed" | "merge-refused" | "not-found" | "precondition-failed"
  | "proof-expired" | "proof-not-offered" | "proof-required" | "proof-stale" | "provider-already-linked"
  | "provider-disabled" | "refused" | "second-factor-required" | "too-many-attempts" | "too-many-mails"
  | "unavailable" | "user-disabled" | "users-locked-out" | "wrong-proof";

/** A conflict to store until it ends (an hour). `handle` is a secret: it stands for the credential. */
export interface ConflictValue {
  handle: string;
  email?: string;
  providerId?: string;
}

export interface ConcordOptions {
  /** The server: `https`, or `http` on this machine. A path before Concord's paths is allowed. */
  url: string;
  /** The project's API key. */
  apiKey: string;
  /** If it is given, an ID token of another project is refused (`invalid-answer`), and nothing is stored. */
  projectId?: string;
  /** Language of mails, messages and pages (BCP 47). */
  language?: string;
  /**
   * Where the session is stored: `localStorage` outlives the browser, `sessionStorage` the reload. Without it, the
   * session ends with the page. Scripts of the page can read both.
   */
  storage?: "localStorage" | "sessionStorage";
  /** The ID token of another library's session, such as `() => auth.currentUser.getIdToken()`. */
  idToken?: (isForced?: boolean) => Promise<string>;
}

export interface CallOptions {
  /**
   * Idempotency-Key: a repeated call with it gets the first answer. Methods with `options` make one for a change, and
   * repeat the call once if its answer gets lost. `call`, `signIn`, `exchangeShortCode` and `undoMerge` make none.
   */
  key?: string;
  /** More fields: `If-Match` with the `ETag` of an answer, `Concord-Proof` with the token of a proof. */
  headers?: Record<string, string>;
}

/** An answer. `headers`, its header fields, is not enumerable. */
export type Answer<Content> = Content & { readonly headers: Headers };

/**
 * The client of one project. Each call ends within 30 seconds, and if its answer got lost and it may be repeated, after
 * a second attempt. A session in an answer becomes the session of the client, and its device token is stored in the
 * local storage, if there is one.
 */
export class Concord {
  constructor(options: ConcordOptions);
  /** The server, without a slash at the end. */
  readonly url: string;
  /** The id of the account that is signed in. */
  readonly uid: string | undefined;

  /** Calls any route. Throws `ConcordError`. */
  call<Content = any>(
    method: string,
    path: string,
    options?: CallOptions & { body?: object; query?: Record<string, unknown>; bearer?: string },
  ): Promise<Answer<Content>>;

  // Sessions

  /**
   * Signs in by a method of the compatible API: `v1/accounts:signInWithPassword`, `v1/accounts:signUp`,
   * `v2/accounts/mfaSignIn:finalize`. Sends the browser's device token, and requests one.
   */
  signIn<Content = Tokens>(path: string, members: object): Promise<Answer<Content>>;
  /**
   * Returns an ID token that is valid for 5 minutes at least. Calls at the same time share one refresh. If the session
   * was revoked, the client signs out and throws. A lost answer does not sign out.
   */
  idToken(isForced?: boolean): Promise<string>;
  /** Forgets the session. `endSession` ends it on the server too. */
  signOut(): void;

  // Providers

  /** Signs in on the provider's page in a popup. Call it from a click. */
  signInWithPopup(providerId: string, options?: ProviderOptions): Promise<Answer<ProviderSignIn>>;
  /** Leaves for the provider's page. Call `redirectResult` on the page that comes back, which is this one. */
  signInWithRedirect(providerId: string, options?: ProviderOptions): Promise<void>;
  /**
   * Returns the sign-in of a redirect that came back, or null if this tab began none. A redirect without a result
   * throws. Import this module before a router reads the fragment: the module removes the event from the address.
   */
  redirectResult(): Promise<Answer<ProviderSignIn> | null>;

  // Pages of the server

  /** Leaves for the sign-in page or the page of a conflict. */
  openPage(page: "signin" | "conflict", options?: PageOptions): Promise<void>;
  /**
   * Call it on the page that a page of the server returns to. It exchanges the code for a session, and removes the whole
   * query and fragment from the address, the app's own too: read them first. Returns null if the address has no result.
   * `outcome` is the state of the conflict. Without `idToken` there is no session: offer the sign-in.
   */
  pageResult(): Promise<({ outcome: ConflictState | null } & Partial<HandedSession>) | null>;

  // Without a session

  about(): Promise<Answer<About>>;
  signInPage(): Promise<Answer<SignInPage>>;
  reauthenticationPolicy(): Promise<Answer<ReauthenticationPolicy>>;
  /** Reads what came of a decision, by the `Concord-Decision` of an answer. */
  decision(id: string): Promise<Answer<Decision>>;
  exchangeShortCode(
    body: { requestType: MailKind; email: string; code: string },
    options?: CallOptions,
  ): Promise<Answer<{ requestType: MailKind; oobCode: string; oobLink: string }>>;
  disownAccount(
    body: { oobCode: string },
    options?: CallOptions,
  ): Promise<Answer<{ email: string; suspended: Suspension[]; gaveAddressUp: boolean }>>;

  // Conflicts. Each takes the handle.

  readConflict(handle: string, query?: {}, options?: CallOptions): Promise<Answer<Conflict>>;
  /** Mails a link and a code to the owner, or takes a session of the account. */
  startProof(
    handle: string,
    body: { kind: "mailbox" } | { kind: "session"; idToken: string },
    options?: CallOptions,
  ): Promise<Answer<Conflict | ProvenConflict>>;
  completeProof(handle: string, body: MailedProof, options?: CallOptions): Promise<Answer<ProvenConflict>>;
  /** Links the credential and signs in. */
  resolveConflict(handle: string, body: { proofToken: string }, options?: CallOptions): Promise<Answer<SignedIn>>;
  declineConflict(handle: string, body?: {}, options?: CallOptions): Promise<Answer<Conflict>>;
  setReturn(
    handle: string,
    body: { continueUrl: string; state?: string; codeChallenge?: string },
    options?: CallOptions,
  ): Promise<Answer<ConflictReturn>>;
  issueConflictCode(handle: string, body: { idToken: string }, options?: CallOptions): Promise<Answer<ConflictReturn>>;
  issueSignInCode(
    body: { refreshToken: string; continueUrl: string; state?: string; codeChallenge: string },
    options?: CallOptions,
  ): Promise<Answer<{ url: string }>>;
  exchangeSession(body: { code: string; codeVerifier: string }, options?: CallOptions): Promise<Answer<HandedSession>>;

  // Lookups

  /** Mails the owner how to sign in. On a known device the answer has the methods at once. */
  lookup(body: { email: string; continueUrl?: string }): Promise<Answer<Partial<KnownAccount>>>;
  proveLookup(body: { email: string; code: string } | { linkSecret: string }): Promise<Answer<ProvenLookup>>;
  continueLookup(
    body: {
      proofToken: string;
      way: "signIn" | "setPassword" | "linkProvider";
      pendingToken?: string;
      continueUrl?: string;
    },
    options?: CallOptions,
  ): Promise<Answer<ContinuedLookup>>;

  // Sign-ups that wait for their mailbox. Each takes the handle.

  proveSignUp(handle: string, body: MailedProof): Promise<Answer<ProvenSignUp>>;
  createAccount(
    handle: string,
    body: { proofToken: string; password?: string; displayName?: string },
    options?: CallOptions,
  ): Promise<Answer<SignedUp>>;
  linkSignUp(
    handle: string,
    body: { proofToken: string },
    options?: CallOptions,
  ): Promise<Answer<{ pendingToken: string; proofToken: string; conflict: Conflict }>>;

  // The account of the session

  methods(query?: {}, options?: CallOptions): Promise<Answer<{ methods: AccountMethod[] }>>;
  removeMethod(method: string, query?: {}, options?: CallOptions): Promise<Answer<{ methods: AccountMethod[] }>>;
  sessions(query?: Page, options?: CallOptions): Promise<Answer<Sessions>>;
  endSessions(query?: { keepCurrent?: boolean }, options?: CallOptions): Promise<Answer<{ ended: boolean }>>;
  /** Ends one session. That of this page is `claims(await concord.idToken()).concord.session`. */
  endSession(id: string, query?: {}, options?: CallOptions): Promise<Answer<{ ended: boolean }>>;
  revokeDevice(id: string, query?: {}, options?: CallOptions): Promise<Answer<{ revoked: boolean }>>;
  suspendedMethods(query?: {}, options?: CallOptions): Promise<Answer<{ methods: SuspendedMethod[] }>>;
  restorePassword(body: { password: string }, options?: CallOptions): Promise<Answer<{ methods: AccountMethod[] }>>;
  discardSuspended(method: string, query?: {}, options?: CallOptions): Promise<Answer<{ methods: SuspendedMethod[] }>>;
  events(query?: Page, options?: CallOptions): Promise<Answer<History>>;
  exportData(query?: {}, options?: CallOptions): Promise<Answer<OwnData>>;
  merges(query?: {}, options?: CallOptions): Promise<Answer<{ userId?: string; merges: Merge[] }>>;
  readMerge(id: string, query?: {}, options?: CallOptions): Promise<Answer<Merge>>;
  /** With `validateOnly`, returns a preview and changes nothing. */
  merge(
    body: { absorbedIdToken: string; choices?: MergeChoices; validateOnly: true },
    options?: CallOptions,
  ): Promise<Answer<MergePreview>>;
  merge(body: { absorbedIdToken: string; choices?: MergeChoices }, options?: CallOptions): Promise<Answer<Merge>>;
  undoMerge(id: string, body?: {}, options?: CallOptions): Promise<Answer<Merge>>;
}

// The Firebase JS SDK

/**
 * Points an `Auth` of the Firebase JS SDK (9 and later, modular) at Concord, in development and in production. Call it
 * right after `getAuth` or `initializeAuth`, before anything waits:
 *
 * ```js
 * const auth = getAuth(initializeApp({ apiKey, projectId }));
 * connect(auth, "https://id.example.com");
 * ```
 *
 * It sets `apiHost`, `tokenApiHost`, `apiScheme` and `authDomain`, and replaces the resolver of popups and redirects by
 * `ConcordPopupRedirectResolver`. It uses no emulator setting: app verification stays on, and no banner appears.
 *
 * - Throws `insecure-url`: the URL is not `https`, and not `http` on this machine.
 * - Throws `already-started`: the SDK has sent a request.
 *
 * Source: `packages/auth/src` of firebase-js-sdk 12.18.0, `core/auth/auth_impl.ts` and `model/popup_redirect.ts`.
 */
export function connect(auth: object, url: string): void;

/**
 * Returns a class to pass as `popupRedirectResolver`: the SDK's own resolver class, with Concord's handler in place of
 * Google's frame and library. An app that calls `connect` needs it only if it passes a resolver to a function.
 *
 * - A popup answers its opener by a message. If a provider's page cuts the popup off from its opener
 *   (`Cross-Origin-Opener-Policy`), the SDK reports `auth/popup-closed-by-user`: use a redirect. The app's own page
 *   must not send `same-origin`, but may send `same-origin-allow-popups`.
 * - A redirect comes back with its event behind the `#`. The session id never leaves the tab that began it.
 *   `getRedirectResult` returns a result, or throws `auth/redirect-cancelled-by-user` if nothing came back, or
 *   `auth/invalid-auth-event` if the event is not of this tab's redirect.
 *
 * The page's origin must be in the project's `authorizedDomains`.
 */
export function ConcordPopupRedirectResolver<Resolver>(base: Resolver): Resolver;

// Requests

export interface ProviderOptions {
  /** `linkViaPopup` and `linkViaRedirect` with `body.idToken`; `reauthViaPopup` and `reauthViaRedirect`. */
  authType?: string;
  scopes?: string[];
  /** More parameters of the provider's page, such as `{ lang: "fr" }`. */
  customParameters?: Record<string, string>;
  /** More members of `accounts:signInWithIdp`: `idToken` to link, `asksFirst`, `autoCreate`. Kept in this tab. */
  body?: { idToken?: string; asksFirst?: boolean; autoCreate?: boolean };
}

export interface PageOptions {
  /** Of a conflict. */
  handle?: string;
  /** The page that the person returns to; this one by default. Its origin must be authorized. */
  continueUrl?: string;
  email?: string;
  lang?: "en" | "zh-TW" | "th";
  mode?: "reauthenticate";
  /** With commas, as the problem `insufficient-user-authentication` names them. */
  methods?: string;
}

export type MailedProof = { code: string } | { linkSecret: string };

export interface Page {
  pageSize?: number;
  pageToken?: string;
}

// Answers (docs/openapi.json). Times are RFC 3339.

export interface Tokens {
  localId?: string;
  idToken: string;
  refreshToken: string;
  expiresIn: string;
  deviceToken?: string;
  email?: string;
  isNewUser?: boolean;
}

/** With `asksFirst` the answer may have no tokens. */
export interface ProviderSignIn extends Partial<Tokens> {
  providerId: string;
  asksFirst?: boolean;
  pendingToken?: string;
  displayName?: string;
  photoUrl?: string;
  rawUserInfo?: string;
  oauthAccessToken?: string;
  oauthIdToken?: string;
  oauthTokenSecret?: string;
}

export interface About {
  version: string;
  api: number;
  features: (Feature | (string & {}))[];
}

export type Feature =
  | "account" | "accountPage" | "asksFirst" | "conflict" | "devices" | "fragmentReceiver" | "lookup"
  | "loopbackReceiver" | "merge" | "openerReceiver" | "pendingSignUp" | "quarantine" | "signInPage";

export type MailKind = "PASSWORD_RESET" | "EMAIL_SIGNIN" | "VERIFY_EMAIL" | "VERIFY_AND_CHANGE_EMAIL";
export type ConflictState = "open" | "proven" | "resolved" | "declined" | "expired" | "superseded";
export type Obstacle = "account-disabled" | "no-address" | "not-available" | "not-enabled";
export type SuspensionReason = "address-proven" | "password-reset" | "address-recovered" | "audit";
export type MergeChoices = Record<string, "survivor" | "absorbed">;

export interface SignInPage {
  apiKey?: string;
  methods: { method: string; displayName?: string }[];
  signUp: { allowed: boolean; requires: "none" | "mailbox" };
}

export interface ReauthenticationPolicy {
  operations: { operation: string; maxAge: number; exemptions: "anonymous"[] }[];
}

export interface Decision {
  decisionId: string;
  decisionTime: string;
  outcome?: "signed-in" | "conflict" | "refused" | "changed";
}

export interface Suspension {
  method: string;
  reason: SuspensionReason;
  expireTime?: string;
  restore: { by: "password" | "link" | "reset"; route: string };
}

export interface ConflictReturn {
  url: string;
  givesCode: boolean;
}

export interface Conflict {
  state: ConflictState;
  kind: "account-exists-with-different-credential" | "credential-already-in-use" | "email-already-in-use";
  providerId: string;
  /** Masked: `a***@e***.com`. */
  email?: string;
  openTime: string;
  expireTime: string;
  proof?: { kind: "mailbox" | "session"; attemptsLeft: number; expireTime: string };
  /** After a proof only. */
  signInMethods?: string[];
  /** What resolving the conflict suspends. Show it before the press. */
  suspended?: Suspension[];
  replaced?: string[];
  return?: ConflictReturn;
}

export interface ProvenConflict {
  conflict: Conflict;
  proofToken: string;
}

export interface HandedSession {
  localId: string;
  idToken: string;
  refreshToken: string;
  expiresIn: string;
  deviceToken?: string;
}

export interface SignedIn extends HandedSession {
  suspended: Suspension[];
  replaced: string[];
}

export interface SignedUp extends HandedSession {
  email: string;
}

export interface WayIn {
  method: string;
  works: boolean;
  obstacle?: Obstacle;
  restorableUntil?: string;
}

export interface KnownAccount {
  email: string;
  methods: WayIn[];
  offersPassword: boolean;
}

export interface ProvenLookup extends KnownAccount {
  lastUsed?: string;
  signsIn: boolean;
  suspended?: Suspension[];
  proofToken: string;
  expireTime: string;
}

export interface ContinuedLookup extends Partial<HandedSession> {
  suspended?: Suspension[];
  oobCode?: string;
  oobLink?: string;
  conflict?: Conflict;
  proofToken?: string;
}

export interface ProvenSignUp {
  email: string;
  providerId?: string;
  accountExists: boolean;
  proofToken: string;
  expireTime: string;
}

export interface AccountMethod {
  method: string;
  works: boolean;
  obstacle?: Obstacle;
  proof?: "sign-up" | "session" | "message" | "provider-credential" | "administrator" | "imported";
  proveTime?: string;
}

export interface SuspendedMethod {
  method: string;
  reason: SuspensionReason;
  decision: string;
  quarantineTime: string;
  expireTime: string;
}

export interface Session {
  sessionId: string;
  startTime: string;
  lastUseTime: string;
  signInProvider: string;
  secondFactor?: "phone" | "totp";
  device?: string;
  current: boolean;
}

export interface Device {
  deviceId: string;
  device?: string;
  startTime: string;
  lastUseTime: string;
  expireTime: string;
}

export interface Sessions {
  sessions: Session[];
  nextPageToken?: string;
  refusedSignIns: { reason: string; count: number; firstTime: string; lastTime: string }[];
  devices: Device[];
}

export interface History {
  events: { id: string; time: string; kind: string; method?: string; secondFactor?: string; merge?: string }[];
  nextPageToken?: string;
}

export interface LaterChange {
  field: string;
  userId: string;
  canStay: boolean;
}

export interface Merge {
  id: string;
  state: "prepared" | "committed" | "aborted" | "undone";
  survivor: string;
  absorbed: string;
  choices: MergeChoices;
  askedBy: "administrator" | "owners";
  reason?: string;
  prepareTime: string;
  answerUntil: string;
  endTime?: string;
  abortReason?: "vetoed" | "timed-out" | "accounts-changed" | "withdrawn";
  undoUntil?: string;
  undoTime?: string;
  canUndo?: boolean;
  kept?: LaterChange[];
}

export interface MergePreview {
  survivor: string;
  absorbed: string;
  fields: {
    field: string;
    survivor?: string;
    absorbed?: string;
    taken?: "survivor" | "absorbed";
    value?: string;
    dropped?: "survivor" | "absorbed";
  }[];
  undecided: string[];
  movedSecondFactors: number;
  endsSessions: boolean;
  waiting?: Merge;
}

export interface OwnData {
  exportTime: string;
  account: Record<string, unknown>;
  methods: AccountMethod[];
  suspendedMethods: SuspendedMethod[];
  sessions: Session[];
  refusedSignIns: { count: number; firstTime: string; lastTime: string }[];
  devices: Device[];
  history: History;
  merges: Merge[];
}

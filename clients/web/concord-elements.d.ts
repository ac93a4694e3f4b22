/**
 * Custom elements for sign-in, conflicts and the account, on the client of `concord.js`.
 *
 * ```html
 * <script type="module" src="concord-elements.js"></script>
 * <concord-signin url="https://id.example.com" api-key="API-KEY"></concord-signin>
 * <concord-account url="https://id.example.com" api-key="API-KEY"></concord-account>
 * ```
 *
 * - **Content security policy**: the elements need `script-src` of the modules and `connect-src` of the server. They
 *   use no inline script and no inline style, and they work with `require-trusted-types-for 'script'`.
 * - **Light DOM**: fields are in the document, so that browsers and password managers fill them. Styles are in the
 *   cascade layer `concord`, so that each rule of the page overrides them.
 * - **Theme**: `--concord-accent`, `--concord-background`, `--concord-text`, `--concord-error` and `--concord-radius`.
 *   Text on the accent has the colour of the background: keep their contrast at 4.5:1. The elements are dark where the
 *   page's `color-scheme` is.
 * - **Language**: the nearest `lang`, on the element or above it: `zh-TW`, `th`, otherwise English. If it changes, the
 *   step stays and is drawn again.
 * - **Accessibility**: each step is a heading with labelled fields. The first field, or the heading, gets the focus.
 *   Problems are alerts.
 *
 * Elements with the same `url` and `api-key` share one `Concord`. Events bubble, and pass through shadow roots.
 */

import { Concord, ConcordError, ConflictState, ConflictValue } from "./concord.js";

/** A session began, or was there when the element appeared. Another `uid` than before: another account. */
export type ConcordSessionEvent = CustomEvent<{ uid: string }>;
/**
 * A conflict opened or ended. Without `state`, the server no longer has it. The elements have stored or removed the
 * conflict already.
 */
export type ConcordConflictEvent = CustomEvent<{ state?: ConflictState; conflict: ConflictValue }>;
/** A call failed. The element shows a sentence about it. */
export type ConcordErrorEvent = CustomEvent<{ error: ConcordError }>;
/** The person signed out, deleted the account, or the session was revoked. */
export type ConcordSignedOutEvent = CustomEvent<null>;

/**
 * The members that all elements share. Attributes are read when the element appears:
 *
 * | Attribute | |
 * |---|---|
 * | `url`, `api-key` | of the server and the project; required without the property `concord` |
 * | `project-id` | refuses ID tokens of other projects |
 * | `storage` | `localStorage` by default, or `sessionStorage` |
 * | `lang` | language of the element |
 *
 * The local storage has the address that was used last and an open conflict, whose handle stands for a credential until
 * the conflict ends. Without local storage the elements work, and a reload starts anew.
 */
declare class Steps extends HTMLElement {
  /** The client. Set it to use your own instance, in the task that creates the element. */
  concord?: Concord;
}

/**
 * `<concord-signin>`: asks for the address first, then for a password or the code of a mail. It signs in with the
 * project's providers, creates accounts, and completes a second factor of an authenticator app.
 *
 * - A known device gets the methods of its account. Another one gets a mail, if the person asks for it.
 * - A conflict shows `<concord-conflict>` in place, also after a reload. "I already have an account" signs in with
 *   another method and links the waiting provider.
 * - A provider's first sign-in asks before it creates an account.
 * - Providers open in a popup, or in this tab with the attribute `redirect` and where the browser blocks popups.
 * - Phone numbers, with their challenges, are on the server's sign-in page: "Sign in another way". A second factor of a
 *   phone number is refused with a sentence.
 *
 * Events: `concord-session`, `concord-conflict`, `concord-error`, `concord-signed-out`.
 */
export class ConcordSignIn extends Steps {
  /** An address to begin with. */
  email?: string | null;
  /** True to reauthenticate: offers `methods` alone, and creates no account. */
  isAgain?: boolean;
  /** The methods to offer; without it, those of the project. */
  methods?: { method: string; works: boolean }[];
}

/**
 * `<concord-conflict>`: explains the conflict, mails a code, shows what stops working, and links after a press.
 * "This was not me" declines. A credential that waits for its mailbox continues here too. Without a conflict it is
 * empty.
 *
 * Events: `concord-conflict`, `concord-session`, `concord-error`.
 */
export class ConcordConflict extends Steps {
  /** The conflict, such as `error.conflict`. By default, the stored one. */
  conflict?: ConflictValue | null;
  /** Called by "I already have an account". Without it, the button is absent. */
  settle?: (conflict: ConflictValue) => void;
}

/**
 * `<concord-account>`: sign-in methods, suspended methods, sessions, sign-out and deletion. The server's account page,
 * which it links to, has the rest. Without a session it is empty.
 *
 * A change that needs a recent sign-in asks for one, and repeats the change afterwards. If the browser blocks the popup
 * of a repeated connection, the person presses "Connect" again. If another account signs in meanwhile, nothing is
 * changed, and the element shows that account.
 *
 * Events: `concord-signed-out`, `concord-error`, and `concord-session` after a reauthentication.
 */
export class ConcordAccount extends Steps {}

declare global {
  interface HTMLElementTagNameMap {
    "concord-signin": ConcordSignIn;
    "concord-conflict": ConcordConflict;
    "concord-account": ConcordAccount;
  }

  interface HTMLElementEventMap {
    "concord-session": ConcordSessionEvent;
    "concord-conflict": ConcordConflictEvent;
    "concord-error": ConcordErrorEvent;
    "concord-signed-out": ConcordSignedOutEvent;
  }
}

import AccountTestSupport
import Foundation
import JSON
import Testing

/// A web app with `clients/web/concord.js`, on another site than the server. Its content security policy allows its own
/// scripts and the server, and requires Trusted Types.
///
/// The part of the Firebase JS SDK that the resolver meets is written down in `sdk.js`. The interface is
/// `PopupRedirectResolverInternal` of firebase-js-sdk 12.18.0, in `packages/auth/src/model/popup_redirect.ts`. The
/// callers are `core/strategies/abstract_popup_redirect_operation.ts`, `core/strategies/redirect.ts`,
/// `platform_browser/strategies/popup.ts` and `AuthImpl.initializeCurrentUser`.
struct WebClientApp: Sendable {
    /// The URL of the app's page, with a query.
    let url: @Sendable (_ query: String) -> String

    static var module: String { AccountTestSupport.Repository.root + "/clients/web/concord.js" }

    /// - `files`: files of the repository that are beside the page.
    static func run(
        server: String,
        files: [String] = ["clients/web/concord.js"],
        _ body: @Sendable (WebClientApp) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-web-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for file in files {
            let url = URL(filePath: AccountTestSupport.Repository.root + "/" + file)
            try FileManager.default.copyItem(at: url, to: folder.appendingPathComponent(url.lastPathComponent))
        }
        let texts = [("app.html", page(server)), ("app.js", script), ("sdk.js", sdk), ("vectors.html", vectors)]
        for (name, text) in texts {
            try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        }
        try await RunningProgram.serveFiles(of: folder) { port in
            // The server is at `127.0.0.1`, which is another site.
            try await body(WebClientApp(url: { "http://localhost:\(port)/app.html?server=\(server)\($0)" }))
        }
    }

    private static func page(_ server: String) -> String {
        """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>App</title>
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self';
          connect-src \(server); require-trusted-types-for 'script'">
        <script type="module" src="app.js"></script>
        <button id="popup">popup</button><button id="redirect">redirect</button>
        <button id="sdkPopup">SDK popup</button><button id="sdkRedirect">SDK redirect</button></html>
        """
    }

    /// Plays `vectors.json`. The page needs no policy: it calls no server.
    private static let vectors = """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>Vectors</title>
        <script type="module">
          import { play } from "./vectors.test.js";
          window.played = fetch("vectors.json").then((answer) => answer.json()).then(play);
          window.isReady = true;
        </script></html>
        """

    private static let script = #"""
        import * as web from "./concord.js";
        import { auth, popup, redirect, redirectResult, SDKResolver } from "./sdk.js";

        const query = new URLSearchParams(location.search);
        const server = query.get("server");
        const concord = new web.Concord({ url: server, apiKey: "any", language: "en", storage: "localStorage" });
        const outcome = (promise) =>
          promise.then((value) => ({ value: value && { ...value } }), ({ code, status, email, conflict, details }) =>
            ({ code, status, email, conflict, details }));
        web.connect(auth, server);
        // `AuthImpl.tryRedirectSignIn`, in an app that uses the SDK.
        const isSDK = query.has("sdk");
        const complete = (auth) => auth._popupRedirectResolver._completeRedirectFn(auth, SDKResolver, true);
        const initialized = isSDK && complete(auth).catch(() => null);
        const outcomes = [];
        Object.assign(window, { web, concord, auth, outcome, outcomes, SDKResolver });
        window.returned = outcome(isSDK ? initialized.then(() => redirectResult(auth)) : concord.redirectResult());
        const on = (id, act) => {
          document.getElementById(id).onclick = async () => outcomes.push(await outcome(act()));
        };
        const asked = { scopes: ["profile", "email"], customParameters: { lang: "fr" } };
        on("popup", () => concord.signInWithPopup("github.com", asked));
        on("redirect", () => concord.signInWithRedirect("github.com", asked));
        on("sdkPopup", () => popup(auth, "signInViaPopup"));
        const type = query.get("type") ?? "signInViaRedirect";
        on("sdkRedirect", () => redirect(auth, type, query.get("eventId") ?? undefined));
        window.isReady = true;
        """#

    private static let sdk = #"""
        const outcomes = new Map();

        export class SDKResolver {
          _redirectPersistence = class {};
          _completeRedirectFn = redirectResult;
          _overrideRedirectResult = (auth, getter) => outcomes.set(auth._key(), getter);
          validated = 0;
          get _shouldInitProactively() { return false; }
          async _initialize() { throw new Error("loads a library of Google's"); }
          async _openPopup() { throw new Error("opens Google's page"); }
          async _openRedirect() { throw new Error("opens Google's page"); }
          _isIframeWebStorageSupported() { throw new Error("asks the frame"); }
          async _originValidation() { this.validated += 1; }
        }

        export const auth = {
          name: "[DEFAULT]",
          languageCode: "en",
          tenantId: null,
          _canInitEmulator: true,
          config: {
            apiKey: "any", authDomain: undefined, apiHost: "identitytoolkit.googleapis.com", apiScheme: "https",
            tokenApiHost: "securetoken.googleapis.com",
          },
          _popupRedirectResolver: new SDKResolver(),
          _key() { return `${this.config.authDomain}_${this.config.apiKey}_${this.name}`; },
          _errorFactory: {
            create: (code, data) => Object.assign(new Error(code), { code: `auth/${code}`, details: data }),
          },
        };

        const provider = {
          providerId: "github.com",
          getScopes: () => ["profile"],
          getCustomParameters: () => ({ lang: "fr" }),
        };

        function operation(auth, filter, begin) {
          const resolver = auth._popupRedirectResolver;
          return new Promise(async (resolve, reject) => {
            const end = (settle) => (value) => { settle(value); manager.unregisterConsumer(consumer); };
            const consumer = { filter, eventId: null, onAuthEvent: end(resolve), onError: end(reject) };
            let manager;
            try {
              manager = await resolver._initialize(auth);
              await begin(consumer, resolver);
              manager.registerConsumer(consumer);
            } catch (error) {
              reject(error);
            }
          });
        }

        export function popup(auth, authType) {
          return operation(auth, [authType], async (consumer, resolver) => {
            const eventId = String(Math.random()).slice(2, 12);
            const opened = await resolver._openPopup(auth, provider, authType, eventId);
            opened.associatedEvent = consumer.eventId = eventId;
            resolver._originValidation(auth);
            resolver._isIframeWebStorageSupported(auth, () => {});
            window.opened = opened;
          });
        }

        export function redirect(auth, authType, eventId) {
          sessionStorage.setItem("pendingRedirect", "true");
          return auth._popupRedirectResolver._openRedirect(auth, provider, authType, eventId);
        }

        export async function redirectResult(auth, resolver, bypassesState = false) {
          if (resolver) throw new Error("a resolver of the SDK's would load a library of Google's");
          let ready = outcomes.get(auth._key());
          if (!ready) {
            try {
              const isPending = sessionStorage.getItem("pendingRedirect") === "true";
              sessionStorage.removeItem("pendingRedirect");
              const types = ["signInViaRedirect", "linkViaRedirect", "reauthViaRedirect", "unknown"];
              const result = isPending ? await operation(auth, types, () => {}) : null;
              ready = async () => result;
            } catch (error) {
              ready = () => Promise.reject(error);
            }
            outcomes.set(auth._key(), ready);
          }
          if (!bypassesState) outcomes.set(auth._key(), async () => null);
          return ready();
        }
        """#
}

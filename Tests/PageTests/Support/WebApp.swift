import AccountTestSupport
import Foundation
import JSON
import Testing

/// A web app on its own host, which signs a user in on a provider's page as the web SDK does: it puts Concord's frame
/// into its page, opens the handler, and waits for the event from the frame.
///
/// The library of Google's through which SDK and frame talk is not to be had without the internet; `library` stands for
/// the part of it that they use.
struct WebApp: Sendable {
    /// The URL of the app's page on the host by that name.
    let url: @Sendable (_ host: String) -> String

    static func run(_ body: @Sendable (WebApp) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-app-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(page.utf8).write(to: folder.appendingPathComponent("app.html"))
        try await RunningProgram.serveFiles(of: folder) { port in
            try await body(WebApp(url: { host in "http://\(host):\(port)/app.html" }))
        }
    }

    private static let page = """
        <!doctype html><title>App</title><button id="popup">popup</button><button id="redirect">redirect</button>
        <script>
        const query = new URLSearchParams(location.search);
        const service = query.get("service");
        window.events = [];
        gapi.iframes.getContext().open(service + "/emulator/auth/iframe?apiKey=any&appName=app&v=12", (frame) => {
          frame.register("authEvent", ({ authEvent }) => { events.push(authEvent); return { status: "ACK" }; });
          frame.send("webStorageSupport", {}, (answers) => { window.storage = answers; });
        });
        function handler(type) {
          return service + "/emulator/auth/handler?" + new URLSearchParams({
            apiKey: "any", appName: "app", authType: type, eventId: "event-1", v: "12", providerId: query.get("provider"),
            redirectUrl: location.href, scopes: "profile", customParameters: JSON.stringify({ lang: "fr" }),
          });
        }
        document.getElementById("popup").onclick = () => window.open(handler("signInViaPopup"), "", "width=500,height=600");
        document.getElementById("redirect").onclick = () => location.assign(handler("signInViaRedirect"));
        </script>
        """

    /// `gapi.iframes`, as far as it is used: messages by name between a page and its frame, each with an answer.
    static let library = """
        window.gapi ??= (() => {
          window.addEventListener("load", () => window.gapi_onload?.());
          function end(target) {
            const handlers = {}, waiting = {};
            let next = 0;
            window.addEventListener("message", ({ source, data }) => {
              if (source !== target() || !data || data.library !== "gapi") return;
              if (data.answers) return waiting[data.id]?.(data.answers);
              const answer = handlers[data.name]?.(data.message);
              target().postMessage({ library: "gapi", id: data.id, answers: [answer] }, "*");
            });
            return {
              register(name, handler) { handlers[name] = handler; },
              send(name, message, callback) {
                waiting[++next] = callback;
                target().postMessage({ library: "gapi", name, message, id: next }, "*");
              },
            };
          }
          return {
            load: (_, callback) => (callback.callback ?? callback)(),
            iframes: {
              CROSS_ORIGIN_IFRAMES_FILTER: () => true,
              getContext: () => ({
                getParentIframe() {
                  const far = end(() => window.parent);
                  setTimeout(() => far.send("ready", {}, () => {}));
                  return far;
                },
                open(url, opened) {
                  const frame = document.createElement("iframe");
                  frame.src = url;
                  const near = end(() => frame.contentWindow);
                  near.register("ready", () => opened(near));
                  document.body.append(frame);
                },
              }),
            },
          };
        })();
        """
}

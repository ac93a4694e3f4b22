import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The iOS apps that open links of mails (developer.apple.com, "Supporting associated domains"). Apple requests the
    /// list without redirects, on the host of the links.
    static let appleAppSiteAssociation = Route(
        .get,
        "/.well-known/apple-app-site-association",
        access: .anyone
    ) { request in
        let ids = request.operations.project.settings.apps.compactMap { app in
            app.teamID.flatMap { team in app.bundleID.map { "\(team).\($0)" } }
        }
        return .object(maxAgeSeconds: associationMaxAgeSeconds) { writer in
            writer.field("applinks") { writer in
                writer.field("details", objects: ids.isEmpty ? [] : [ids]) { writer, ids in
                    writer.field("appIDs", ids)
                    writer.field("components", objects: [linkPath]) { $0.field("/", $1) }
                }
            }
        }
    }

    /// The same for Android (developer.android.com, "Verify Android App Links").
    static let assetLinks = Route(.get, "/.well-known/assetlinks.json", access: .anyone) { request in
        let statements = request.operations.project.settings.apps.compactMap { app -> JSONValue? in
            guard let package = app.packageName, !app.linkCertificates.isEmpty else { return nil }
            let target: [String: JSONValue] = [
                "namespace": .string("android_app"), "package_name": .string(package),
                "sha256_cert_fingerprints": .array(app.linkCertificates.map(JSONValue.string)),
            ]
            let relation = JSONValue.array([.string("delegate_permission/common.handle_all_urls")])
            return .object(["relation": relation, "target": .object(target)])
        }
        return APIResponse(
            json: Array(JSONValue.array(statements).text.utf8),
            maxAgeSeconds: associationMaxAgeSeconds
        )
    }

    /// The path that an app opens. It is not the action page, because people without the app are redirected to that
    /// page.
    private static let linkPath = "/__/auth/links"
    private static let associationMaxAgeSeconds = 300
}

import AccountAPI
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// The files from which operating systems learn which apps open the links of mails.
struct AppAssociationTests {
    private static let apps: JSONValue = [
        ["appId": "1:7:ios:a1", "bundleId": "com.example.app", "teamId": "TEAM123456", "appStoreId": "987654321"],
        ["appId": "1:7:ios:a2", "bundleId": "com.example.unlinked"],
        ["appId": "1:7:android:b2", "packageName": "com.example.app", "sha256Certs": ["ab:cd:01", "EF:23:45"]],
        ["appId": "1:7:android:b3", "packageName": "com.example.unlinked", "sha1Certs": ["AB:CD:01"]],
    ]

    private static func expect(_ path: String, _ expected: JSONValue, apps: JSONValue? = apps) async throws {
        let settings = apps.map { ProjectSettings.developmentDefaults.setting($0, at: ["concord", "apps"]) }
        try await TestAPI.with(settings: settings ?? ProjectSettings.developmentDefaults) { api async throws in
            let answer = try await api.wire.send(.get, path, key: nil)
            #expect(answer.status == 200 && answer.headers[.location] == nil)
            #expect(answer.headers[.contentType]?.hasPrefix("application/json") == true)
            #expect(answer.json == expected)
        }
    }

    @Test func `only iOS apps with a team open links, and only links to the sign-in page`() async throws {
        let details: JSONValue = [
            ["appIDs": ["TEAM123456.com.example.app"], "components": [["/": "/__/auth/links"]]]
        ]
        try await Self.expect("/.well-known/apple-app-site-association", ["applinks": ["details": details]])
    }

    @Test func `Android apps with registered certificates open links`() async throws {
        let target: JSONValue = [
            "namespace": "android_app", "package_name": "com.example.app",
            "sha256_cert_fingerprints": ["AB:CD:01", "EF:23:45"],
        ]
        let relation: JSONValue = ["delegate_permission/common.handle_all_urls"]
        try await Self.expect("/.well-known/assetlinks.json", [["relation": relation, "target": target]])
    }

    @Test func `without apps the association files are empty`() async throws {
        try await Self.expect("/.well-known/apple-app-site-association", ["applinks": ["details": []]], apps: nil)
        try await Self.expect("/.well-known/assetlinks.json", [], apps: nil)
    }

    @Test(
        arguments: [
            ("com.example.app", nil, "987654321"), ("com.example.app", "111", "111"),
            ("com.example.unlinked", nil, nil),
        ] as [(String, String?, String?)]
    )
    func `a link has the app's App Store id, from the request or otherwise from the registration`(
        bundle: String,
        asked: String?,
        expected: String?
    ) async throws {
        let settings = ProjectSettings.developmentDefaults.setting(Self.apps, at: ["concord", "apps"])
            .setting(["links.example.com"], at: ["concord", "linkDomains"])
        try await TestAPI.with(settings: settings, callers: DevelopmentCallers()) { api async throws in
            var body: [String: JSONValue] = [
                "requestType": "EMAIL_SIGNIN", "email": "ada@example.com", "continueUrl": "http://localhost/",
                "canHandleCodeInApp": true, "iOSBundleId": .string(bundle), "returnOobLink": true,
            ]
            if let asked { body["iOSAppStoreId"] = .string(asked) }
            let answer = try await api.post(
                "/v1/projects/demo-test/accounts:sendOobCode",
                .object(body),
                key: nil,
                bearer: "owner"
            )
            let link = try #require(answer.json["oobLink"]?.string)
            #expect(link.hasPrefix("https://links.example.com/__/auth/links?"))
            let stores = link.split(whereSeparator: { "?&".contains($0) }).filter { $0.hasPrefix("isi=") }
            #expect(stores == (expected.map { ["isi=\($0)"] } ?? []), "\(link)")
        }
    }
}

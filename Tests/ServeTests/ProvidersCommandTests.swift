import AccountTestSupport
import Foundation
import JSON
import Postgres
import Subprocess
import SystemPackage
import Testing

/// `concord providers`, the real program, beside a server that follows it.
struct ProvidersCommandTests {
    @Test func `a file registers providers with sealed secrets, and a running server uses them`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await LocalIssuer.run { issuer in
                    try folder.write("secret", "S3CR3T-OF-THE-FILE\n")
                    try folder.write("providers.yaml", Self.file(issuer: issuer.url, clientID: "first"))
                    let settings = [
                        "CONCORD_PROVIDERS_ALLOW_PRIVATE_NETWORKS": "true",
                        "CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": issuer.certificatePath,
                    ]
                    try await ServeProcess.run(database: database.url, settings) { server in
                        let path = folder.path("providers.yaml")
                        let rehearsed = try await Self.concord(["apply", "--dry-run", path], database)
                        #expect(rehearsed.output == "oidc.corp         added\nnothing was changed yet\n")
                        #expect(try await database.count("SELECT count(*) FROM provider_configs") == 0)

                        let added = try await Self.concord(["apply", path], database)
                        #expect(added.output == "oidc.corp         added\n" && added.status == .exited(0))
                        let again = try await Self.concord(["apply", path], database)
                        #expect(again.output == "oidc.corp         unchanged\n")
                        #expect(
                            try await Self.concord(["list"], database).output
                                == "oidc.corp         enabled   first\n"
                        )
                        let inTheClear = try await database.count(
                            """
                            SELECT count(*) FROM provider_configs
                            WHERE position('S3CR3T'::bytea IN sealed_client_secret) > 0 OR sealed_client_secret IS NULL
                            """
                        )
                        #expect(inTheClear == 0)

                        try await Self.signIn(server, issuer, audience: "first")
                        let line = await server.log.line(saying: "provider registrations changed")
                        #expect(line?["providers"] == "oidc.corp" && line?["level"] == "notice")
                        // Accounts are linked now: under another issuer their subjects would be other people.
                        try folder.write(
                            "providers.yaml",
                            Self.file(issuer: "https://other.example", clientID: "first")
                        )
                        let refused = try await Self.concord(["apply", path], database)
                        #expect(refused.status == .exited(1))
                        #expect(
                            refused.error == """
                                concord: oidc.corp: accounts are linked under another issuer; register this one under \
                                another id
                                concord: nothing was changed

                                """
                        )

                        try folder.write("providers.yaml", Self.file(issuer: issuer.url, clientID: "second"))
                        #expect(try await Self.concord(["apply", path], database).output.hasSuffix("changed\n"))
                        try await Self.signIn(server, issuer, audience: "second")

                        // Nor is another issuer taken where the registration was taken back before.
                        try await database.execute("DELETE FROM provider_configs")
                        try folder.write(
                            "providers.yaml",
                            Self.file(issuer: "https://other.example", clientID: "first")
                        )
                        let anew = try await Self.concord(["apply", path], database)
                        #expect(anew.status == .exited(1) && anew.error == refused.error)
                        #expect(try await database.count("SELECT count(*) FROM provider_configs") == 0)
                    }
                }
            }
        }
    }

    @Test func `if applies of different files race, one complete file remains`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                let callers = 12
                for caller in 0..<callers {
                    let provider = "enabled: true\n    issuer: https://id.example\n    clientId: of-\(caller)"
                    try folder.write(
                        "\(caller).yaml",
                        "providers:\n  oidc.a:\n    \(provider)\n  oidc.b:\n    \(provider)\n"
                    )
                }
                try await withThrowingTaskGroup { group in
                    for caller in 0..<callers {
                        group.addTask {
                            let path = folder.path("\(caller).yaml")
                            let result = try await Self.concord(["apply", path], database)
                            #expect(result.status == .exited(0), "\(result.error)")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await database.count("SELECT count(*) FROM provider_configs") == 2)
                #expect(try await database.count("SELECT count(DISTINCT client_id) FROM provider_configs") == 1)
            }
        }
    }

    @Test func `a file with a known issuer, or a provider whose claims prove nothing, warns each time`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try folder.write(
                    "providers.yaml",
                    """
                    providers:
                      oidc.corp: {clientId: a, issuer: "https://id.example", emailDomains: [corp.example, b.example]}
                      oidc.bare: {clientId: b, issuer: "https://id.example"}
                      oidc.google: {clientId: c, issuer: "https://accounts.google.com"}
                    """
                )
                let path = folder.path("providers.yaml")
                for arguments in [["apply", "--dry-run", path], ["apply", path], ["apply", path]] {
                    let result = try await Self.concord(arguments, database)
                    #expect(result.status == .exited(0))
                    let warnings = result.error.split(separator: "\n").map { $0.prefix { $0 != "," } }
                    #expect(
                        warnings == [
                            "concord: warning: oidc.bare: No address of this provider is proof: a sign-in with an address "
                                + "that an account has becomes a conflict. Name the domains whose mailboxes the provider "
                                + "gives out in emailDomains",
                            "concord: warning: oidc.google: The issuer is that of google.com",
                        ]
                    )
                }
                #expect(
                    try await Self.concord(["list"], database).output == """
                        oidc.bare         disabled  b
                        oidc.corp         disabled  a  emailDomains: b.example,corp.example
                        oidc.google       disabled  c

                        """
                )
                try folder.write(
                    "providers.yaml",
                    """
                    providers:
                      oidc.google: {clientId: c, issuer: "https://accounts.google.com", emailDomains: [a.example]}
                    """
                )
                let refused = try await Self.concord(["apply", path], database)
                #expect(refused.status == .exited(1))
                #expect(refused.error.contains("oidc.google: the issuer belongs to google.com"), "\(refused.error)")
            }
        }
    }

    @Test func `an invalid file changes nothing and ends with 78`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try folder.write(
                    "providers.yaml",
                    "providers:\n  yahoo.com: {enabled: true}\n  github.com: {secret: x}\n"
                )
                let result = try await Self.concord(["apply", folder.path("providers.yaml")], database)
                #expect(result.status == .exited(78))
                #expect(
                    result.error.hasSuffix(
                        "providers.yaml:3: github.com: secret is unknown, empty or not allowed here\n"
                    )
                )
                #expect(try await database.count("SELECT count(*) FROM provider_configs") == 0)
            }
        }
    }

    private static func file(issuer: String, clientID: String) -> String {
        """
        providers:
          oidc.corp:
            enabled: true
            issuer: \(issuer)
            clientId: \(clientID)
            clientSecretFile: secret
        """
    }

    /// Signs in, again and again until the server has taken note of what is registered.
    private static func signIn(_ server: ServeProcess, _ issuer: LocalIssuer, audience: String) async throws {
        let token = try issuer.token(for: "subject", audience: audience, email: nil, isVerified: false)
        let body: JSONValue = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": .string("providerId=oidc.corp&id_token=\(token)"),
        ]
        while true {
            let answer = try await server.post("/v1/accounts:signInWithIdp", body)
            if answer.status == 200 { return }
            #expect(answer.status == 400, "\(answer.text)")
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private static func concord(
        _ arguments: [String],
        _ database: TestDatabase
    ) async throws -> ConcordCommand.Ending {
        try await ConcordCommand.run(["providers"] + arguments, database)
    }
}

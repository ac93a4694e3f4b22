import Testing

@testable import concord

/// The address that `concord healthcheck` asks.
struct ReadinessProbeTests {
    private func probe(_ environment: [String: String]) throws -> ReadinessProbe? {
        var environment = environment
        if environment["CONCORD_LISTEN_HOST"] != nil { environment["CONCORD_LISTEN_ALLOW_PLAIN_HTTP"] = "true" }
        let sources = ConfigurationSources(file: nil, environment: environment, readFile: { _ in nil })
        return ReadinessProbe(try ListenConfiguration(sources))
    }

    private func probe(
        host: String,
        publicURL: String?,
        admin: ListenConfiguration.AdminListener? = nil
    ) -> ReadinessProbe? {
        ReadinessProbe(
            ListenConfiguration(
                host: host,
                port: 8443,
                transport: .tls(certificatePath: "/a.pem", keyPath: "/a.key"),
                trustedProxies: [],
                publicURL: publicURL,
                adminListener: admin,
                metricsAddress: nil
            )
        )
    }

    @Test func `without settings, the probe asks the default port of loopback`() throws {
        #expect(try probe([:])?.url == "http://127.0.0.1:8080/readyz")
    }

    @Test(arguments: [("0.0.0.0", "http://127.0.0.1:8080/readyz"), ("::", "http://[::1]:8080/readyz")])
    func `a listener on every address is asked on loopback`(_ host: String, _ url: String) throws {
        let settings = ["CONCORD_LISTEN_HOST": host, "CONCORD_LISTEN_PUBLIC_URL": "https://id.example.com"]
        #expect(try probe(settings)?.url == url)
    }

    @Test func `a listener on one address is asked there`() throws {
        #expect(try probe(["CONCORD_LISTEN_HOST": "10.0.0.5"])?.url == "http://10.0.0.5:8080/readyz")
    }

    @Test func `if the system chooses the port, the probe asks the admin listener`() throws {
        #expect(try probe(["CONCORD_LISTEN_PORT": "0"]) == nil)
        let address = ["CONCORD_LISTEN_PORT": "0", "CONCORD_LISTEN_ADMIN_ADDRESS": "127.0.0.1:9098"]
        #expect(try probe(address)?.url == "http://127.0.0.1:9098/readyz")
        let socket = ["CONCORD_LISTEN_PORT": "0", "CONCORD_LISTEN_ADMIN_SOCKET": "/run/concord/admin.sock"]
        #expect(try probe(socket)?.url == "http://localhost/readyz")
        #expect(try probe(socket)?.socketPath == "/run/concord/admin.sock")
        #expect(try probe(socket)?.place == "/run/concord/admin.sock")
    }

    @Test func `the certificate is verified beyond loopback, under the public name`() throws {
        let local = try #require(probe(host: "0.0.0.0", publicURL: "https://id.example.com"))
        #expect(local.url == "https://127.0.0.1:8443/readyz" && !local.verifiesCertificate)
        let remote = try #require(probe(host: "10.0.0.5", publicURL: "https://id.example.com"))
        #expect(remote.url == "https://id.example.com:8443/readyz" && remote.verifiesCertificate)
        #expect(remote.connection == ["id.example.com": "10.0.0.5"])
    }

    @Test func `with TLS beyond loopback and no public name, the probe asks the admin listener`() throws {
        let admin = ListenConfiguration.AdminListener.unixSocket(path: "/admin.sock")
        #expect(probe(host: "10.0.0.5", publicURL: nil, admin: admin)?.place == "/admin.sock")
    }

    @Test func `a URL is asked as it is written`() {
        #expect(ReadinessProbe(base: "https://id.example.com/")?.url == "https://id.example.com/readyz")
        #expect(ReadinessProbe(base: "https://id.example.com")?.verifiesCertificate == true)
        #expect(ReadinessProbe(base: "https://localhost:8443")?.verifiesCertificate == false)
        #expect(ReadinessProbe(base: "id.example.com") == nil)
        #expect(ReadinessProbe(base: "ftp://id.example.com") == nil)
    }

    @Test(arguments: [
        "https://ada:secret@id.example.com", "https://ada@id.example.com", "https://:secret@id.example.com",
        "https://@id.example.com",
    ])
    func `a URL with user information is refused, so that no error shows a password`(_ url: String) {
        #expect(ReadinessProbe(base: url) == nil)
    }

    @Test func `a setting of another part of the server does not stop the probe`() throws {
        let settings = ["CONCORD_LISTEN_PORT": "8081", "CONCORD_DATABASE_READ_CONNECTIONS": "0"]
        #expect(try probe(settings)?.url == "http://127.0.0.1:8081/readyz")
    }
}

import AccountAPI
import AccountTestSupport
import Logging
import Postgres
import Testing

@testable import concord

/// Sources made of the text of a file, variables and files that settings name.
func configurationSources(
    _ yaml: String? = nil,
    _ environment: [String: String] = [:],
    files: [String: String] = [:]
) -> ConfigurationSources {
    ConfigurationSources(
        file: yaml.map { ("concord.yaml", $0) },
        environment: environment,
        readFile: { path in files[path].map { Array($0.utf8) } }
    )
}

private let firstKey = "1:" + String(repeating: "A", count: 43) + "="
private let secondKey = "2:" + String(repeating: "B", count: 42) + "A="

/// The minimum that `serve` needs.
private let required = ["CONCORD_DATABASE_URL": "postgresql:///concord", "CONCORD_KEYS_ENCRYPTION": firstKey]

private func mistakes(_ sources: ConfigurationSources) -> String {
    do {
        _ = try ServeConfiguration(sources)
        return ""
    } catch {
        return error.description
    }
}

/// A certificate that signs itself, and its key; for parsing only.
private let certificatePEM = """
    -----BEGIN CERTIFICATE-----
    MIIBhTCCASugAwIBAgIUFpVF0lZrRahBjs46K/COA/xZ+9cwCgYIKoZIzj0EAwIw
    FzEVMBMGA1UEAwwMY29uY29yZC50ZXN0MCAXDTI2MTEyMTEzMzA1M1oYDzIxMjYx
    MDI4MTMzMDUzWjAXMRUwEwYDVQQDDAxjb25jb3JkLnRlc3QwWTATBgcqhkjOPQIB
    BggqhkjOPQMBBwNCAAQezm2ixVHm06Tg/Txpfw6EuLtjQU6jQZzV8yFVcsfAR3xv
    dbybhwqjqrvZ6vi5U0KLoLP+SGYUBoRmrp1UiQKio1MwUTAdBgNVHQ4EFgQUlAXv
    l719msOwnopvOxHvHHB3R9kwHwYDVR0jBBgwFoAUlAXvl719msOwnopvOxHvHHB3
    R9kwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBbsw4XI3Vy0EOX
    R/2gsvWRXAkPpF9ORfYp2QyTWkYzQAIhAM7n7WlZZz695YtRT/lubhJe1dV140JK
    lnP8boymqi/j
    -----END CERTIFICATE-----
    """
private let privateKeyPEM = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgswcOfu42+1d2z6FQ
    h0/pf8ACc6UgwXy6dhPDKAPFMu+hRANCAAQezm2ixVHm06Tg/Txpfw6EuLtjQU6j
    QZzV8yFVcsfAR3xvdbybhwqjqrvZ6vi5U0KLoLP+SGYUBoRmrp1UiQKi
    -----END PRIVATE KEY-----
    """

/// The mistake in one variable beside the required ones.
private func mistake(_ variable: String, _ value: String) -> String {
    mistakes(configurationSources(nil, required.merging([variable: value]) { $1 }))
}

@Suite struct ConfigurationTests {
    @Test func `serve needs only a database and a key`() throws {
        let configuration = try ServeConfiguration(configurationSources(nil, required))
        #expect(configuration.listen.host == "127.0.0.1")
        #expect(configuration.listen.port == 8080)
        #expect(configuration.listen.transport == .plain)
        #expect(configuration.listen.adminListener == nil)
        #expect(configuration.limits.requestTimeout == .seconds(10))
        #expect(configuration.limits.bodyBytesMax == 1_048_576)
        #expect(configuration.limits.jsonDepthMax == 64)
        #expect(configuration.limits.drainTimeout == .seconds(10))
        #expect(configuration.limits.providerCallTimeout == .seconds(5))
        #expect(configuration.database.postgres.writeConnections == 8)
        #expect(configuration.database.postgres.queueWait == .seconds(1))
        #expect(configuration.database.postgres.readStatementTimeout == .seconds(2))
        #expect(configuration.database.postgres.writeStatementTimeout == .seconds(5))
        #expect(configuration.database.postgres.statementMode == .named)
        #expect(configuration.tokens.signingAlgorithm == .ES256)
        #expect(!configuration.providers.allowsPrivateNetworks)
        #expect(configuration.providers.certificateAuthorities.isEmpty)
        #expect(configuration.log.level == .info)
        #expect(configuration.keys.all.map(\.id) == [1])
    }

    @Test func `an empty configuration reports the required settings`() {
        let text = mistakes(configurationSources())
        #expect(text.contains("database.url: required; set CONCORD_DATABASE_URL"))
        #expect(text.contains("keys.encryption: required; set CONCORD_KEYS_ENCRYPTION"))
    }

    @Test func `a process that only needs the database does not need keys`() throws {
        let sources = configurationSources(nil, ["CONCORD_DATABASE_URL": "postgresql://db/concord"])
        #expect(try DatabaseConfiguration(sources).postgres.description.contains("host=db"))
    }

    @Test func `a file is read in nested and in dotted form`() throws {
        let yaml = """
            # A comment
            listen:
              port: 9000
              trusted_proxies: [10.0.0.0/8, "2001:db8::1"]
            limits.body_bytes_max: 2MiB
            database:
              url: postgresql:///concord
              read_connections: 3
              statement_mode: unnamed
              session_settings: transaction
              idle_connection_timeout: 5m
              replica_url: postgresql:///replica
              replica_staleness_max: 30s
            keys:
              encryption:
                - \(secondKey)
                - \(firstKey)
            log: {level: debug, format: json}
            tokens: {signing_algorithm: RS256}
            """
        let configuration = try ServeConfiguration(configurationSources(yaml))
        #expect(configuration.listen.port == 9000)
        #expect(configuration.listen.trustedProxies.map(\.description) == ["10.0.0.0/8", "2001:db8::1"])
        #expect(configuration.limits.bodyBytesMax == 2 << 20)
        #expect(configuration.database.postgres.readConnections == 3)
        #expect(configuration.database.postgres.statementMode == .unnamed)
        #expect(configuration.database.postgres.sessionSettings == .transaction)
        #expect(configuration.database.postgres.idleTimeout == .seconds(300))
        let replica = try #require(configuration.database.replica)
        #expect(replica.postgres.description.contains("dbname=replica") && replica.ageMax == .seconds(30))
        // The same limits and modes apply to both.
        #expect(replica.postgres.statementMode == .unnamed && replica.postgres.readConnections == 3)
        #expect(configuration.keys.sealing.id == 2)
        #expect(configuration.keys.opening.map(\.id) == [1])
        #expect(configuration.log == LogConfiguration(level: .debug, format: .json))
        #expect(configuration.tokens.signingAlgorithm == .RS256)
    }

    @Test func `a development database has long timeouts, unless a source sets them`() throws {
        let sources = configurationSources(
            "database: {session_settings: transaction, write_connections: 2}",
            ["CONCORD_DATABASE_LOCK_TIMEOUT": "3s", "CONCORD_DATABASE_URL": "postgresql:///other"]
        )
        let postgres = try DatabaseConfiguration.development(url: "postgresql:///dev", sources)
        #expect(postgres.description.contains("dbname=dev"))
        #expect(postgres.sessionSettings == .transaction && postgres.writeConnections == 2)
        #expect(postgres.lockTimeout == .seconds(3))
        #expect(postgres.connectTimeout == .seconds(30) && postgres.readStatementTimeout == .seconds(30))
        #expect(throws: ConfigurationMistakes.self) {
            try DatabaseConfiguration.development(
                url: "postgresql:///dev",
                configurationSources(nil, ["CONCORD_DATABASE_STATEMENT_MODE": "other"])
            )
        }
    }

    @Test func `the environment overrides the file`() throws {
        let sources = configurationSources(
            "listen: {port: 1001, host: localhost}\nlog: {level: error}",
            required.merging(["CONCORD_LISTEN_PORT": "1002", "CONCORD_LOG_LEVEL": "debug"]) { $1 }
        )
        let configuration = try ServeConfiguration(sources)
        #expect(configuration.listen.host == "localhost")
        #expect(configuration.listen.port == 1002)
        #expect(configuration.log.level == .debug)
        let origins = Dictionary(
            uniqueKeysWithValues: ConfigurationTable.effective(sources).map { ($0.name, $0.origin.description) }
        )
        #expect(origins["listen.port"] == "CONCORD_LISTEN_PORT")
        #expect(origins["listen.host"] == "concord.yaml:1")
        #expect(origins["log.level"] == "CONCORD_LOG_LEVEL")
        #expect(origins["log.format"] == "default")
    }

    @Test func `certificate authorities of issuers come from a file`() throws {
        let settings = required.merging(["CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": "ca.pem"]) { $1 }
        #expect(mistakes(configurationSources(nil, settings)).contains("the file cannot be read"))
        let files = ["ca.pem": "no certificate"]
        #expect(mistakes(configurationSources(nil, settings, files: files)).contains("holds no PEM certificate"))
    }

    @Test func `an overridden value is validated too`() {
        let environment = required.merging(["CONCORD_LISTEN_PORT": "80"]) { $1 }
        #expect(mistakes(configurationSources("listen: {port: eighty}", environment)).contains("concord.yaml:1"))
    }

    @Test func `all mistakes are reported together, in order`() throws {
        let yaml = """
            listen:
              prot: 8080
              host: 0.0.0.0
              tls_key: /etc/concord/key.pem
              trusted_proxies: [10.0.0.0/8, elsewhere]
              admin_address: 192.0.2.1:9098
            limits:
              request_timeout: 10
              body_bytes_max: 2GiB
              json_depth_max: ~
              drain_timeout: {seconds: 3}
            limit:
              drain_timeout: 5s
            database: postgresql:///concord
            database.write_connections: [1, 2]
            keys:
              encryption: 1:secret
            tokens.signing_algorithm: HS256
            42: true
            """
        let environment = [
            "CONCORD_DATABASE_URL": "postgresql://concord:hunter2@db/concord?nonsense=1",
            "CONCORD_LOG_LEVEL": "verbose",
            "CONCORD_LOG_FORMAT": "",
            "CONCORD_LIMITS_JSON_DEPTH": "64",
            "CONCORD_TRACE": "1",
            "PATH": "/bin",
        ]
        let text = mistakes(configurationSources(yaml, environment))
        #expect(!text.contains("hunter2"))
        #expect(!text.contains("1:secret"))
        try golden.expect(text + "\n", matches: "configuration-mistakes.txt")
    }

    @Test func `a file that is not YAML is reported as one mistake without its content`() {
        let text = mistakes(configurationSources("keys:\n\tencryption: 1:secret\n", required))
        #expect(text.hasPrefix("concord.yaml:2: not YAML"))
        #expect(!text.contains("secret"))
        #expect(text.split(separator: "\n").count == 1)
    }

    @Test func `a repeated key is a mistake`() {
        #expect(mistakes(configurationSources("log:\n  level: info\n  level: debug", required)).contains("twice"))
        #expect(mistakes(configurationSources("log.level: info\nlog: {level: debug}", required)).contains("twice"))
    }

    @Test func `an empty file sets nothing`() {
        #expect(mistakes(configurationSources("", required)).isEmpty)
        #expect(mistakes(configurationSources("# only a comment\n", required)).isEmpty)
        #expect(mistakes(configurationSources("just words", required)) == "concord.yaml:1: not a group of keys")
    }

    @Test(arguments: [
        ("CONCORD_LISTEN_PORT", "65536"), ("CONCORD_LISTEN_PORT", "-1"), ("CONCORD_LISTEN_PORT", "0x50"),
        ("CONCORD_LISTEN_PORT", " 80"), ("CONCORD_LISTEN_PORT", "８０"), ("CONCORD_LISTEN_PORT", "99999999999999999999"),
        ("CONCORD_LIMITS_REQUEST_TIMEOUT", "10"), ("CONCORD_LIMITS_REQUEST_TIMEOUT", "0s"),
        ("CONCORD_LIMITS_REQUEST_TIMEOUT", "1.5s"), ("CONCORD_LIMITS_REQUEST_TIMEOUT", "10 s"),
        ("CONCORD_LIMITS_REQUEST_TIMEOUT", "999999999999999999h"),
        ("CONCORD_LIMITS_BODY_BYTES_MAX", "1048576"), ("CONCORD_LIMITS_BODY_BYTES_MAX", "1MB"),
        ("CONCORD_LIMITS_BODY_BYTES_MAX", "1023B"),
        ("CONCORD_LISTEN_ALLOW_PLAIN_HTTP", "yes"), ("CONCORD_LOG_LEVEL", "INFO"),
        ("CONCORD_LISTEN_TRUSTED_PROXIES", "10.0.0.1/8"), ("CONCORD_LISTEN_TRUSTED_PROXIES", "10.0.0.0/33"),
        ("CONCORD_LISTEN_TRUSTED_PROXIES", "10.0.0.1,"), ("CONCORD_LISTEN_TRUSTED_PROXIES", "proxy.example.com"),
        ("CONCORD_LISTEN_PUBLIC_URL", "id.example.com"), ("CONCORD_LISTEN_PUBLIC_URL", "https://"),
        ("CONCORD_LISTEN_PUBLIC_URL", "https://id.example.com/?q"),
        ("CONCORD_LISTEN_PUBLIC_URL", "https://user@id.example.com"),
        ("CONCORD_LISTEN_ADMIN_SOCKET", "admin.sock"),
        ("CONCORD_LISTEN_ADMIN_SOCKET", "/" + String(repeating: "a", count: 107)),
        ("CONCORD_LISTEN_ADMIN_ADDRESS", "0.0.0.0:9098"), ("CONCORD_LISTEN_ADMIN_ADDRESS", "::1:9098"),
        ("CONCORD_LISTEN_ADMIN_ADDRESS", "127.0.0.1:0"), ("CONCORD_LISTEN_ADMIN_ADDRESS", "127.0.0.1"),
    ])
    func `a value out of range is reported with key, variable and range`(variable: String, value: String) throws {
        let entry = try #require(ConfigurationTable.entries.first { $0.variable == variable })
        let text = mistake(variable, value)
        #expect(text.hasPrefix("\(variable): \(entry.name): "))
        #expect(text.hasSuffix("give \(entry.allowed)"))
    }

    @Test(arguments: [
        ("CONCORD_LISTEN_PORT", "0"), ("CONCORD_LIMITS_REQUEST_TIMEOUT", "1500ms"),
        ("CONCORD_LIMITS_REQUEST_TIMEOUT", "5m"), ("CONCORD_LIMITS_BODY_BYTES_MAX", "512KiB"),
        ("CONCORD_LISTEN_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8 ,192.0.2.7"),
        ("CONCORD_LISTEN_ADMIN_ADDRESS", "[::1]:9098"), ("CONCORD_LISTEN_ADMIN_ADDRESS", "localhost:9098"),
        ("CONCORD_LISTEN_ADMIN_SOCKET", "/run/concord/admin.sock"),
        ("CONCORD_LISTEN_PUBLIC_URL", "https://id.example.com:8443/auth"),
        ("CONCORD_LISTEN_HOST", "127.4.5.6"), ("CONCORD_LISTEN_HOST", "::1"),
        ("CONCORD_LISTEN_HOST", "::ffff:127.0.0.1"),
    ])
    func `a value in range is accepted`(variable: String, value: String) {
        #expect(mistake(variable, value).isEmpty)
    }

    @Test func `the final slash of the public URL is removed`() throws {
        let environment = required.merging(["CONCORD_LISTEN_PUBLIC_URL": "https://id.example.com/"]) { $1 }
        #expect(
            try ServeConfiguration(configurationSources(nil, environment)).listen.publicURL == "https://id.example.com"
        )
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "concord.example.com", "0177.0.0.1"])
    func `plain HTTP beyond loopback needs an explicit setting`(host: String) {
        #expect(mistake("CONCORD_LISTEN_HOST", host).contains("listen.allow_plain_http: true"))
        let allowed = required.merging([
            "CONCORD_LISTEN_HOST": host, "CONCORD_LISTEN_ALLOW_PLAIN_HTTP": "true",
            "CONCORD_LISTEN_PUBLIC_URL": "https://id.example.com",
        ]) { $1 }
        #expect(mistakes(configurationSources(nil, allowed)).isEmpty)
    }

    /// A link to every address is a link to none.
    @Test(arguments: ["0.0.0.0", "::", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0"])
    func `listening on every address needs a public URL for the links in mails`(host: String) {
        let settings = required.merging([
            "CONCORD_LISTEN_HOST": host, "CONCORD_LISTEN_ALLOW_PLAIN_HTTP": "true",
        ]) { $1 }
        #expect(
            mistakes(configurationSources(nil, settings))
                == "CONCORD_LISTEN_HOST: listen.host: \(host.debugDescription) is every address, so links need another "
                + "one; set listen.public_url to the address that users reach, such as https://id.example.com"
        )
        let isSet = settings.merging(["CONCORD_LISTEN_PUBLIC_URL": "https://id.example.com"]) { $1 }
        #expect(mistakes(configurationSources(nil, isSet)).isEmpty)
    }

    @Test func `TLS needs both files, both readable`() throws {
        let yaml = """
            listen: {host: 192.0.2.1, tls_certificate: /tls/cert.pem, tls_key: /tls/key.pem}
            """
        let both = ["/tls/cert.pem": certificatePEM, "/tls/key.pem": privateKeyPEM]
        let configuration = try ServeConfiguration(configurationSources(yaml, required, files: both))
        #expect(
            configuration.listen.transport == .tls(certificatePath: "/tls/cert.pem", keyPath: "/tls/key.pem")
        )
        let one = mistakes(configurationSources(yaml, required, files: ["/tls/cert.pem": certificatePEM]))
        #expect(one == "concord.yaml:1: listen.tls_key: the file cannot be read; check its path and permissions")
        #expect(mistake("CONCORD_LISTEN_TLS_KEY", "/tls/key.pem").contains("needs listen.tls_certificate"))
        #expect(mistake("CONCORD_LISTEN_TLS_CERTIFICATE", "/tls/cert.pem").contains("needs listen.tls_key"))
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func `a file without a certificate or key is reported before the start`(nonsense: String) {
        let yaml = "listen: {tls_certificate: /tls/cert.pem, tls_key: /tls/key.pem}"
        func mistakes(_ certificate: String, _ key: String) -> String {
            let files = ["/tls/cert.pem": certificate, "/tls/key.pem": key]
            return concordTests.mistakes(configurationSources(yaml, required, files: files))
        }
        #expect(
            mistakes(nonsense, privateKeyPEM)
                == "concord.yaml:1: listen.tls_certificate: the file holds no PEM certificate"
        )
        #expect(
            mistakes(certificatePEM, nonsense) == "concord.yaml:1: listen.tls_key: the file holds no PEM private key"
        )
        #expect(mistakes(privateKeyPEM, certificatePEM).contains("listen.tls_certificate"))
    }

    @Test func `a key that does not match the certificate is reported before the start`() throws {
        let files = ["/tls/cert.pem": certificatePEM, "/tls/key.pem": try TLSIdentity().keyPEM]
        let yaml = "listen: {tls_certificate: /tls/cert.pem, tls_key: /tls/key.pem}"
        #expect(
            mistakes(configurationSources(yaml, required, files: files))
                == "concord.yaml:1: listen.tls_key: the key does not belong to the certificate"
        )
    }

    @Test func `only one admin listener can be set`() {
        let yaml = "listen: {admin_socket: /run/a.sock, admin_address: '127.0.0.1:9098'}"
        #expect(mistakes(configurationSources(yaml, required)).contains("excludes listen.admin_socket"))
    }

    @Test func `variables of a Kubernetes service named concord are ignored`() {
        for variable in [
            "CONCORD_SERVICE_HOST", "CONCORD_SERVICE_PORT", "CONCORD_SERVICE_PORT_HTTP", "CONCORD_PORT",
            "CONCORD_PORT_8080_TCP", "CONCORD_PORT_8080_TCP_ADDR",
        ] {
            #expect(mistake(variable, "tcp://10.0.0.1:80").isEmpty)
        }
        #expect(mistake("CONCORD_PORTS", "1") == "CONCORD_PORTS: unknown variable; remove it")
        #expect(mistake("CONCORD_SERVICE", "1").contains("unknown variable"))
    }

    @Test func `a misspelled variable is reported with the nearest name`() {
        #expect(mistake("CONCORD_LISTEN_PROT", "1").contains("did you mean CONCORD_LISTEN_PORT?"))
    }
}

/// Secrets in files.
@Suite struct SecretFileTests {
    private static let secrets = ConfigurationTable.entries.filter { $0.secrecy != .shown }

    /// A setting that no other setting needs, and its value.
    private static let environment = [
        "CONCORD_DATABASE_URL_FILE": "/run/url", "CONCORD_KEYS_ENCRYPTION_FILE": "/run/keys",
    ]

    @Test func `every secret has a setting that names its file`() {
        let names = Set(ConfigurationTable.entries.map(\.name))
        #expect(Self.secrets.count >= 7)
        for secret in Self.secrets {
            #expect(names.contains(secret.name + "_file"), "\(secret.name)")
            #expect(secret.file?.variable == secret.variable + "_FILE")
        }
    }

    @Test func `a file's first line is the value`() throws {
        let files = [
            "/run/url": "postgresql://ada:hunter2@db/concord\r\n", "/run/keys": firstKey, "/run/token": "the-token\n",
            "/run/whsec": "whsec_\(String(repeating: "A", count: 32))\nrotated in May\n", "/run/recaptcha": "secret!",
            "/run/api": "api-key\n",
        ]
        let settings = [
            "CONCORD_SMS_TWILIO_ACCOUNT_SID": "AC1", "CONCORD_SMS_TWILIO_AUTH_TOKEN_FILE": "/run/token",
            "CONCORD_SMS_TWILIO_FROM": "+16505550100", "CONCORD_SMS_WEBHOOK_SECRET_FILE": "/run/whsec",
            "CONCORD_RECAPTCHA_SITE_KEY": "site", "CONCORD_RECAPTCHA_SECRET_FILE": "/run/recaptcha",
            "CONCORD_RECAPTCHA_ENTERPRISE_PROJECT": "project", "CONCORD_RECAPTCHA_ENTERPRISE_WEB_KEY": "web",
            "CONCORD_RECAPTCHA_ENTERPRISE_API_KEY_FILE": "/run/api",
        ]
        let sources = configurationSources(nil, Self.environment.merging(settings) { $1 }, files: files)
        let configuration = try ServeConfiguration(sources)
        #expect(configuration.database.postgres.description.contains("db"))
        #expect(configuration.recaptcha?.secret == "secret!" && configuration.assessments?.apiKey == "api-key")
        guard case .twilio(_, _, "the-token", _) = configuration.messages.gateway else {
            Issue.record("no gateway")
            return
        }
        let shown = ConfigCommand.text(ConfigurationTable.effective(sources))
        #expect(shown.contains("/run/token") && !shown.contains("the-token") && !shown.contains("hunter2"))
    }

    @Test(arguments: secrets)
    func `a secret and its file exclude each other in all combinations of sources`(secret: ConfigurationEntry) throws {
        let file = try #require(secret.file)
        let sources = configurationSources(
            "\(secret.name): value",
            [file.variable: "/run/secret"],
            files: ["/run/secret": "value"]
        )
        let expected = "\(file.variable): \(file.name): excludes \(secret.name); keep one of them"
        #expect(mistakes(sources).contains(expected))
    }

    @Test(arguments: secrets)
    func `a file that cannot be read, or holds nothing, is a mistake in its setting`(secret: ConfigurationEntry) throws
    {
        let file = try #require(secret.file)
        for (files, problem) in [
            ([:], "the file cannot be read; check its path and permissions"),
            (["/run/secret": "\n"], "the file holds no value; give \(secret.allowed)"),
        ] {
            let text = mistakes(configurationSources(nil, [file.variable: "/run/secret"], files: files))
            #expect(text.contains("\(file.variable): \(file.name): \(problem)"))
            #expect(!text.contains("\(secret.name): required"), "the file is the mistake")
        }
    }
}

@Suite struct ConfigurationKeysTests {
    @Test func `keys can be in a file with comments`() throws {
        let file = "# rotated in May\n\(secondKey)   # seals\n\n  \(firstKey)\r\n"
        let environment = [
            "CONCORD_DATABASE_URL": "postgresql:///concord", "CONCORD_KEYS_ENCRYPTION_FILE": "/run/secrets/keys",
        ]
        let sources = configurationSources(nil, environment, files: ["/run/secrets/keys": file])
        let keys = try ServeConfiguration(sources).keys
        #expect(keys.all.map(\.id) == [2, 1])
        #expect(keys.sealing.bytes.count == 32)
        #expect(keys.opening[0].bytes == Array(repeating: 0, count: 32))
    }

    @Test(arguments: [
        ("", "holds no value"), ("1:short", "a line of the file is not allowed; give a list, each id:base64"),
        ("\(firstKey)\n\(firstKey)", "two keys have the same id"),
    ])
    func `an invalid key file is reported without its content`(content: String, expected: String) {
        let environment = [
            "CONCORD_DATABASE_URL": "postgresql:///concord", "CONCORD_KEYS_ENCRYPTION_FILE": "/keys",
        ]
        let text = mistakes(configurationSources(nil, environment, files: ["/keys": content]))
        #expect(text.contains("keys.encryption_file"))
        #expect(text.contains(expected))
        #expect(!text.contains("AAAA"))
        #expect(!text.contains("1:short"))
    }

    @Test func `a key file and keys exclude each other`() {
        #expect(mistake("CONCORD_KEYS_ENCRYPTION_FILE", "/keys").contains("excludes keys.encryption"))
    }

    @Test(arguments: [
        "1", "1:", "0:\(firstKey.dropFirst(2))", "65536:\(firstKey.dropFirst(2))", "a:\(firstKey.dropFirst(2))",
        String(firstKey.dropLast()), firstKey + "A", "1:\(String(repeating: "A", count: 44))",
        "\(firstKey),\(firstKey)",
    ])
    func `an invalid key is refused without being shown`(value: String) {
        let text = mistake("CONCORD_KEYS_ENCRYPTION", value)
        #expect(text.hasPrefix("CONCORD_KEYS_ENCRYPTION: keys.encryption: "))
        #expect(!text.contains("AAAA"))
    }

    @Test func `no description shows a key or a password`() throws {
        let environment = [
            "CONCORD_DATABASE_URL": "postgresql://concord:hunter2@db/concord?sslpassword=hunter3",
            "CONCORD_KEYS_ENCRYPTION": firstKey,
        ]
        let configuration = try ServeConfiguration(configurationSources(nil, environment))
        let shown = [
            "\(configuration.keys.sealing)", String(reflecting: configuration.keys.sealing),
            "\(configuration.database.postgres)",
            ConfigCommand.text(ConfigurationTable.effective(configurationSources(nil, environment))),
        ].joined()
        #expect(!shown.contains("hunter"))
        #expect(!shown.contains("AAAA"))
    }
}

@Suite struct ConfigurationPrintTests {
    private let sources = configurationSources(
        "listen: {port: 8443}\nlog:\n  format: json",
        [
            "CONCORD_DATABASE_URL": "postgresql://concord:hunter2@db.example.com/concord",
            "CONCORD_KEYS_ENCRYPTION": firstKey, "CONCORD_LISTEN_TRUSTED_PROXIES": "10.0.0.0/8,10.1.0.0/16",
        ]
    )

    @Test func `every setting is listed with its origin`() throws {
        try golden.expect(ConfigCommand.text(ConfigurationTable.effective(sources)) + "\n", matches: "config-print.txt")
    }

    @Test func `the JSON listing has the same content`() throws {
        try golden.expect(
            ConfigCommand.json(ConfigurationTable.effective(sources)) + "\n",
            matches: "config-print.json"
        )
    }

    @Test func `a named configuration file must exist`() {
        #expect(throws: ConfigurationMistakes.self) {
            try ConfigurationOptions.sources(path: "absent.yaml", environment: [:], readFile: { _ in nil })
        }
        #expect(throws: ConfigurationMistakes.self) {
            try ConfigurationOptions.sources(
                path: nil,
                environment: ["CONCORD_CONFIG": "absent.yaml"],
                readFile: { _ in nil }
            )
        }
        #expect(throws: Never.self) {
            try ConfigurationOptions.sources(path: nil, environment: [:], readFile: { _ in nil })
        }
    }
}

@Suite struct ConfigurationTableTests {
    @Test func `names and variables are unique and in snake case`() {
        let entries = ConfigurationTable.entries
        #expect(Set(entries.map(\.name)).count == entries.count)
        #expect(Set(entries.map(\.variable)).count == entries.count)
        for entry in entries {
            #expect(entry.name.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789_.".utf8.contains($0) })
            #expect(!ConfigurationSources.isServiceLink(entry.variable))
            #expect(entry.variable != ConfigurationSources.fileVariable)
            #expect(!entry.summary.hasSuffix("."))
        }
    }

    @Test func `every entry of the table is read, and no other`() throws {
        var reader = ConfigurationReader(configurationSources())
        _ = ListenConfiguration(reading: &reader)
        _ = DatabaseConfiguration.read(&reader)
        _ = LimitsConfiguration(reading: &reader)
        _ = PurgeConfiguration(reading: &reader)
        _ = KeysConfiguration.read(&reader, isRequired: false)
        _ = TokensConfiguration(reading: &reader)
        _ = ProvidersConfiguration(reading: &reader)
        _ = MessagesConfiguration(reading: &reader)
        _ = RecaptchaConfiguration.read(&reader)
        _ = AssessmentConfiguration.read(&reader)
        _ = ApplePushConfiguration(reading: &reader)
        _ = MailConfiguration.read(&reader)
        _ = LogConfiguration(reading: &reader)
        _ = TelemetryConfiguration.read(&reader)
        #expect(reader.namesRead == Set(ConfigurationTable.entries.map(\.name)))
    }

    @Test func `every default is a valid value in its shown form`() {
        let words: Set = ["none", "off", "one per core", "as mail.security has it", "that of mail.from"]
        let written = ConfigurationTable.entries.filter { !words.contains($0.defaultText) }
        let yaml = written.map { "\($0.name): \"\($0.defaultText)\"" }.joined(separator: "\n")
        #expect(mistakes(configurationSources(yaml, required)).isEmpty)
    }
}

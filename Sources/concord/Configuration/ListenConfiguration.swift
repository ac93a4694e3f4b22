import AccountAPI

/// The listening addresses of the HTTP API, their encryption, and the trusted proxies.
struct ListenConfiguration: Sendable, Hashable {
    /// The transport to the clients.
    enum Transport: Sendable, Hashable {
        case plain
        /// Paths of a PEM certificate chain and of its PEM private key, which were valid at the start.
        case tls(certificatePath: String, keyPath: String)
    }

    /// The second listener, which accepts the fixed bearer token `owner` of Admin SDKs as an administrator, because
    /// only operators can reach it.
    enum AdminListener: Sendable, Hashable {
        /// A Unix socket at a path of at most 107 bytes.
        case unixSocket(path: String)
        case loopback(HostAndPort)
    }

    let host: String
    /// 0 to 65535. With 0, the system chooses a port.
    let port: Int
    let transport: Transport
    /// Peers whose forwarded headers are trusted. Those of other peers are ignored.
    let trustedProxies: [IPNetwork]
    /// The base URL of links in mails and answers, without a slash at the end; `nil` if not configured.
    let publicURL: String?
    let adminListener: AdminListener?
    /// The listener that serves only metrics.
    let metricsAddress: HostAndPort?
}

extension ListenConfiguration {
    static let entries: [ConfigurationEntry] = [
        hostKey.entry, portKey.entry, certificateKey.entry, privateKeyKey.entry, allowPlainHTTPKey.entry,
        trustedProxiesKey.entry, publicURLKey.entry, adminSocketKey.entry, adminAddressKey.entry,
        metricsAddressKey.entry,
    ]

    private static let hostKey = ConfigurationKey(
        "listen.host",
        .text("an address or host name"),
        default: "127.0.0.1",
        "Address the HTTP API binds; `0.0.0.0` or `::` for all"
    )
    private static let portKey = ConfigurationKey(
        "listen.port",
        .wholeNumber(0...65535),
        default: 8080,
        "Port the HTTP API binds; 0 lets the system choose"
    )
    private static let certificateKey = ConfigurationKey(
        optional: "listen.tls_certificate",
        .path,
        "PEM certificate chain, the server's first; turns on TLS, together with `listen.tls_key`"
    )
    private static let privateKeyKey = ConfigurationKey(
        optional: "listen.tls_key",
        .path,
        "PEM private key of the certificate"
    )
    private static let allowPlainHTTPKey = ConfigurationKey(
        "listen.allow_plain_http",
        .truth,
        default: false,
        "Allows plain HTTP on a `listen.host` other than loopback, for a proxy on a private network"
    )
    private static let trustedProxiesKey = ConfigurationKey(
        list: "listen.trusted_proxies",
        .network,
        "Proxies whose `X-Forwarded-For` is trusted"
    )
    private static let publicURLKey = ConfigurationKey(
        optional: "listen.public_url",
        .publicURL,
        "URL of this service for clients and mail readers, and the base of all links; required if `listen.host` is every "
            + "address"
    )
    private static let adminSocketKey = ConfigurationKey(
        optional: "listen.admin_socket",
        .socketPath,
        absent: "off",
        "Unix socket for administrators: anyone who can open it is one (`Bearer owner`)"
    )
    private static let adminAddressKey = ConfigurationKey(
        optional: "listen.admin_address",
        .loopback,
        absent: "off",
        "The same on a loopback port; every process of this host can reach it"
    )

    private static let metricsAddressKey = ConfigurationKey(
        optional: "listen.metrics_address",
        .hostAndPort,
        absent: "off",
        "Address that serves `/metrics`, unencrypted and without a credential; use a private network"
    )

    /// Reads the `listen` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        host = reader.value(Self.hostKey)
        port = reader.value(Self.portKey)
        trustedProxies = reader.value(Self.trustedProxiesKey)
        publicURL = reader.value(Self.publicURLKey)
        transport = Self.transport(reading: &reader)
        adminListener = Self.adminListener(reading: &reader)
        metricsAddress = reader.value(Self.metricsAddressKey)
        let allowsPlainHTTP = reader.value(Self.allowPlainHTTPKey)
        if transport == .plain, !allowsPlainHTTP, !isLoopback(host: host) {
            reader.refuse(
                Self.hostKey,
                "\(host.debugDescription) is not loopback and there is no TLS; set listen.tls_certificate and "
                    + "listen.tls_key, or listen.allow_plain_http: true behind a proxy"
            )
        }
        if publicURL == nil, isEveryAddress(host: host) {
            reader.refuse(
                Self.hostKey,
                "\(host.debugDescription) is every address, so links need another one; set listen.public_url to the "
                    + "address that users reach, such as https://id.example.com"
            )
        }
    }

    private static func transport(reading reader: inout ConfigurationReader) -> Transport {
        switch (reader.value(certificateKey), reader.value(privateKeyKey)) {
        case (nil, nil): return .plain
        case (let certificatePath?, let keyPath?):
            let certificate = reader.contents(of: certificatePath, named: certificateKey)
            let key = reader.contents(of: keyPath, named: privateKeyKey)
            if let certificate, let key {
                do throws(TLSFiles.Problem) {
                    _ = try TLSFiles(certificate: certificate, key: key).context()
                } catch {
                    reader.refuse(error == .noCertificate ? certificateKey : privateKeyKey, "\(error)")
                }
            }
            return .tls(certificatePath: certificatePath, keyPath: keyPath)
        case (_?, nil):
            reader.refuse(certificateKey, "needs listen.tls_key beside it")
        case (nil, _?):
            reader.refuse(privateKeyKey, "needs listen.tls_certificate beside it")
        }
        return .plain
    }

    private static func adminListener(reading reader: inout ConfigurationReader) -> AdminListener? {
        switch (reader.value(adminSocketKey), reader.value(adminAddressKey)) {
        case (nil, nil): return nil
        case (let path?, nil): return .unixSocket(path: path)
        case (nil, let address?): return .loopback(address)
        case (_?, _?):
            reader.refuse(adminAddressKey, "excludes listen.admin_socket; keep one of them")
            return nil
        }
    }
}

extension ConfigurationForm where Value == String {
    /// A Unix socket's path: absolute, and short enough for `sockaddr_un` (unix(7): 108 bytes with the NUL).
    fileprivate static let socketPath = Self(
        allowed: "an absolute path of at most 107 bytes",
        parse: { $0.hasPrefix("/") && $0.utf8.count <= 107 && path.parse($0) != nil ? $0 : nil },
        format: { $0 }
    )

    /// Scheme, host and perhaps port and path; the slash at the end is dropped.
    fileprivate static let publicURL = Self(
        allowed: "an http or https URL without query, such as https://id.example.com",
        parse: { text in
            let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
            guard let scheme, text.utf8.count <= 512 else { return nil }
            let rest = text.dropFirst(scheme.count)
            let isPlain = rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"?#@\"<>\\^`{|}".utf8.contains($0) }
            guard isPlain, let first = rest.first, first != "/", first != ":" else { return nil }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        },
        format: { $0 }
    )
}

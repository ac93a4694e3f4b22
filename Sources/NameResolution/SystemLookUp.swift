import Glibc

extension HostResolver {
    /// The system's resolver (`getaddrinfo`), for TCP.
    package static let system: LookUp = { host throws(HostNotFound) in
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let outcome = getaddrinfo(host, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        var addresses: [String] = []
        var next = outcome == 0 ? list : nil
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            if getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0 {
                addresses.append(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            }
            next = entry.ai_next
        }
        guard !addresses.isEmpty else {
            let reason = gai_strerror(outcome == 0 ? EAI_NONAME : outcome).map { String(cString: $0) }
            throw HostNotFound(reason: reason ?? "no address")
        }
        return addresses
    }
}

package import AccountLinking

/// The sender or reply address of a mail: an address, optionally with a name (RFC 5322 §3.4).
package struct Mailbox: Sendable, Hashable {
    package let name: String?
    package let address: EmailAddress

    package init(name: String?, address: EmailAddress) {
        self.name = name
        self.address = address
    }

    /// Parses `ada@example.com` or `Ada Example <ada@example.com>`; `nil` for anything else.
    package init?(_ text: String) {
        guard text.hasSuffix(">"), let open = text.lastIndex(of: "<") else {
            guard let address = EmailAddress(text) else { return nil }
            self.init(name: nil, address: address)
            return
        }
        guard let address = EmailAddress(String(text[text.index(after: open)...].dropLast())) else { return nil }
        let name = HeaderText.line(String(text[..<open]))
        // The name would contain another mailbox.
        guard !name.contains(where: { "<>@".contains($0) }) else { return nil }
        self.init(name: name.isEmpty ? nil : name, address: address)
    }

    package var text: String {
        name.map { "\($0) <\(address.raw)>" } ?? address.raw
    }
}

extension EmailAddress {
    /// The address on the wire: the local part as it is spelled, the domain in ASCII (RFC 5890 §2.3.2.1). If the local
    /// part is not ASCII, the relay must support SMTPUTF8 (RFC 6531).
    package var forTransport: String { "\(raw.prefix { $0 != "@" })@\(domain)" }
}

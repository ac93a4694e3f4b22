/// A key that at most one user of a tenant owns: an address, a number or a provider's identity.
package enum Identifier: Sendable, Hashable {
    case email(EmailAddress)
    case phone(PhoneNumber)
    case federated(ProviderIdentity)

    package var kind: String {
        switch self {
        case .email: "email"
        case .phone: "phone"
        case .federated: "federated"
        }
    }

    /// The stored key. Provider ids and subjects cannot contain U+001F, so the separator is unambiguous.
    package var value: String {
        switch self {
        case .email(let address): address.canonical
        case .phone(let number): number.rawValue
        case .federated(let identity): identity.provider.rawValue + "\u{1F}" + identity.subject
        }
    }
}

extension Account {
    /// The identifiers that the account owns, in a fixed order.
    package var identifiers: [Identifier] {
        var identifiers: [Identifier] = []
        identifiers.reserveCapacity(linkedProviders.count + 2)
        if let email { identifiers.append(.email(email.address)) }
        for (provider, subject) in linkedProviders {
            guard let identity = ProviderIdentity(provider: provider, subject: subject) else { continue }
            identifiers.append(.federated(identity))
        }
        if let phoneNumber { identifiers.append(.phone(phoneNumber)) }
        return identifiers
    }
}

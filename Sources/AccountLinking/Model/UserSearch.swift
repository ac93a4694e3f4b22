/// Identifiers of an administrator's search. An account matches if any of them names it.
package struct UserSearch: Sendable {
    package var ids: [UserID] = []
    package var emails: [EmailAddress] = []
    package var phoneNumbers: [PhoneNumber] = []
    package var identities: [ProviderIdentity] = []
    /// First addresses; ASCII case does not matter.
    package var initialEmails: [String] = []

    package init() {}
}

/// Order of a list of accounts. Ties are sorted by id, except accounts of one creation time, which have no order.
package struct UserOrder: Sendable, Hashable {
    package enum Key: Sendable, Hashable {
        case id
        case displayName
        case createdAt
        case lastLoginAt
        case email
    }

    package var key: Key
    package var isDescending: Bool

    package init(key: Key, isDescending: Bool) {
        self.key = key
        self.isDescending = isDescending
    }
}

/// The subject of each linked provider, sorted by provider. The lists are short, so lookups scan them.
package struct LinkedSubjects: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        var key: ProviderID
        var value: String
        /// `nil` if the provider has one issuer only.
        var issuer: String?
    }

    /// Sorted by provider, without duplicates.
    private var entries: [Entry] = []

    package init() {}

    /// If a provider occurs more than once, the last identity wins.
    package init(_ identities: some Sequence<ProviderIdentity>) {
        entries.reserveCapacity(identities.underestimatedCount)
        for identity in identities { self[identity.provider] = identity.subject }
    }

    /// Takes identities with the issuers that linked them. If a provider occurs more than once, the last wins.
    package init(_ linked: some Sequence<(identity: ProviderIdentity, issuer: String?)>) {
        entries.reserveCapacity(linked.underestimatedCount)
        for (identity, issuer) in linked {
            put(identity.subject, issuer: identity.provider.hasManyIssuers ? issuer : nil, at: identity.provider)
        }
    }

    /// Setting a subject clears its issuer: only stored rows have one.
    package subscript(provider: ProviderID) -> String? {
        get { entries.first { $0.key == provider }?.value }
        set { put(newValue, issuer: nil, at: provider) }
    }

    /// The issuer that linked the subject. Only for providers with more than one (`hasManyIssuers`).
    package func issuer(of provider: ProviderID) -> String? { entries.first { $0.key == provider }?.issuer }

    private mutating func put(_ subject: String?, issuer: String?, at provider: ProviderID) {
        // Entries mostly arrive sorted.
        let isBehind = entries.last.map { $0.key < provider } ?? true
        let place = (isBehind ? nil : entries.firstIndex { provider <= $0.key }) ?? entries.endIndex
        if place < entries.endIndex, entries[place].key == provider { entries.remove(at: place) }
        if let subject { entries.insert(Entry(key: provider, value: subject, issuer: issuer), at: place) }
    }

    package var keys: [ProviderID] { entries.map(\.key) }
    package var values: [String] { entries.map(\.value) }

    package func mapValues(_ transform: (String) -> String) -> LinkedSubjects {
        var mapped = self
        for index in entries.indices { mapped.entries[index].value = transform(entries[index].value) }
        return mapped
    }
}

extension LinkedSubjects: RandomAccessCollection {
    package var startIndex: Int { entries.startIndex }
    package var endIndex: Int { entries.endIndex }

    package subscript(position: Int) -> (key: ProviderID, value: String) {
        (entries[position].key, entries[position].value)
    }
}

extension LinkedSubjects: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (ProviderID, String)...) {
        for (provider, subject) in elements { self[provider] = subject }
    }
}

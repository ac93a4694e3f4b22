/// The subject of each linked provider, in the order of providers: a dictionary of so few entries that they are looked through.
package struct LinkedSubjects: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        var key: ProviderID
        var value: String
        /// `nil` where the provider alone says who gives the subjects out.
        var issuer: String?
    }

    /// In the order of providers, each once.
    private var entries: [Entry] = []

    package init() {}

    /// Of several identities with one provider the last counts.
    package init(_ identities: some Sequence<ProviderIdentity>) {
        entries.reserveCapacity(identities.underestimatedCount)
        for identity in identities { self[identity.provider] = identity.subject }
    }

    /// Takes the last of several identities with one provider. Each comes with the issuer whose word linked it.
    package init(_ linked: some Sequence<(identity: ProviderIdentity, issuer: String?)>) {
        entries.reserveCapacity(linked.underestimatedCount)
        for (identity, issuer) in linked {
            put(identity.subject, issuer: identity.provider.hasManyIssuers ? issuer : nil, at: identity.provider)
        }
    }

    /// An identity whose subject is set has no issuer: only rows that are stored know it.
    package subscript(provider: ProviderID) -> String? {
        get { entries.first { $0.key == provider }?.value }
        set { put(newValue, issuer: nil, at: provider) }
    }

    /// The issuer whose word linked the subject. Kept for providers that have more than one (`hasManyIssuers`).
    package func issuer(of provider: ProviderID) -> String? { entries.first { $0.key == provider }?.issuer }

    private mutating func put(_ subject: String?, issuer: String?, at provider: ProviderID) {
        // They mostly come in order.
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

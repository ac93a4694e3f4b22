/// The subject of each linked provider, in the order of providers: a dictionary of so few entries that they are looked through.
package struct LinkedSubjects: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        var key: ProviderID
        var value: String
    }

    /// In the order of providers, each once.
    private var entries: [Entry] = []

    package init() {}

    /// Of several identities with one provider the last counts.
    package init(_ identities: some Sequence<ProviderIdentity>) {
        entries.reserveCapacity(identities.underestimatedCount)
        for identity in identities { self[identity.provider] = identity.subject }
    }

    package subscript(provider: ProviderID) -> String? {
        get { entries.first { $0.key == provider }?.value }
        set {
            // They mostly come in order.
            let isBehind = entries.last.map { $0.key < provider } ?? true
            let place = (isBehind ? nil : entries.firstIndex { provider <= $0.key }) ?? entries.endIndex
            if place < entries.endIndex, entries[place].key == provider { entries.remove(at: place) }
            if let newValue { entries.insert(Entry(key: provider, value: newValue), at: place) }
        }
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

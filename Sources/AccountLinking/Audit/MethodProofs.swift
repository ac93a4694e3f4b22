/// The proof of each sign-in method of an account: a dictionary with so few entries that it searches linearly.
package struct MethodProofs: Sendable, ExpressibleByDictionaryLiteral {
    package typealias Element = (key: SignInMethod, value: UserRecord.MethodProof)

    /// Each method once, in no order that means anything.
    private var entries: [Element]

    package init(dictionaryLiteral elements: (SignInMethod, UserRecord.MethodProof)...) {
        entries = []
        for (method, proof) in elements { self[method] = proof }
    }

    package mutating func reserveCapacity(_ count: Int) { entries.reserveCapacity(count) }

    /// Keeps the memory.
    package mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    package var count: Int { entries.count }

    package var methods: [SignInMethod] { entries.map(\.key) }

    package subscript(method: SignInMethod) -> UserRecord.MethodProof? {
        get { place(of: method).map { entries[$0].value } }
        set {
            switch (place(of: method), newValue) {
            case (let place?, let proof?): entries[place].value = proof
            case (let place?, nil): entries.remove(at: place)
            case (nil, let proof?): entries.append((method, proof))
            case (nil, nil): break
            }
        }
    }

    package func filter(_ isIncluded: (Element) -> Bool) -> [Element] { entries.filter(isIncluded) }

    private func place(of method: SignInMethod) -> Int? { entries.firstIndex { $0.key == method } }
}

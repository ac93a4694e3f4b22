// One store can serve several servers and projects, for example a development and a production server. Each has a state
// without secrets of the others.

extension StoredState {
    /// The most states of other scopes that are stored. The oldest makes room.
    static let mostOthers = 16

    private var owner: String? { scope ?? session?.scope }

    /// Returns the state of one scope, with the version of the whole.
    func part(of scope: String) -> StoredState {
        var part: StoredState
        if owner == scope {
            part = self
        } else if owner == nil {
            // The device token of an unknown server must not reach this one.
            part = self
            part.deviceToken = nil
        } else {
            part = others.last { $0.scope == scope } ?? StoredState()
        }
        part.others = []
        part.scope = scope
        part.version = version
        return part
    }

    /// Replaces the state of one scope.
    mutating func replacePart(of scope: String, with part: StoredState) {
        if owner == nil || owner == scope {
            let others = others
            self = part
            self.others = others
        } else {
            others.removeAll { $0.scope == scope }
            others = (others + [part]).suffix(Self.mostOthers)
        }
    }
}

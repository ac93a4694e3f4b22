/// A sign-in method of an account as it was before a change.
package struct MethodSnapshot: Sendable, Hashable {
    package var method: SignInMethod
    /// False if the account did not have the method.
    package var wasThere: Bool
    /// `nil` where it is not known, or the account did not have the method.
    package var proof: UserRecord.MethodProof?
    /// The number, where the method is one.
    package var number: PhoneNumber?
    /// The identity, where the method is a provider.
    package var linked: UserRecord.LinkedProvider?

    package init(
        _ method: SignInMethod,
        wasThere: Bool,
        proof: UserRecord.MethodProof? = nil,
        number: PhoneNumber? = nil,
        linked: UserRecord.LinkedProvider? = nil
    ) {
        self.method = method
        self.wasThere = wasThere
        self.proof = proof
        self.number = number
        self.linked = linked
    }

    /// `method` as `user` has it.
    package init(_ method: SignInMethod, of user: UserRecord) {
        self.init(method, wasThere: false)
        switch method {
        case .password: wasThere = user.passwordUpdatedAt != nil
        case .emailLink: wasThere = user.methodProofs[.emailLink] != nil
        case .phone:
            number = user.phoneNumber
            wasThere = number != nil
        case .provider(let provider):
            linked = user.linkedProviders[provider]
            wasThere = linked != nil
        }
        if wasThere { proof = user.methodProofs[method] }
    }

    /// The claim that goes with the method.
    package var identifier: Identifier? { number.map(Identifier.phone) ?? linked.map { .federated($0.identity) } }
}

/// Effect of a change on the sign-in methods of an account, as its owner learns of it. A mailed link that was followed for the
/// first time is no news to the owner of the mailbox.
package struct MethodChanges: Sendable {
    /// The methods that the change adds, removes or replaces, as they were before it, by name.
    package let before: [MethodSnapshot]
    /// By name. A provider whose subject is another, and a number that is another, are added and removed.
    package let added: [SignInMethod]
    package let removed: [SignInMethod]
    /// True if the account had a password and has another one.
    package let replacesPassword: Bool
    /// The number that is added, and the one that is removed.
    package let numbers: (added: PhoneNumber?, removed: PhoneNumber?)

    package var isEmpty: Bool { before.isEmpty }

    /// The names of the methods.
    package var methods: [SignInMethod] { before.map(\.method) }

    /// - `change`: it makes `next` of `previous`.
    package init(_ change: AccountChange, from previous: UserRecord, to next: UserRecord) {
        var methods: [SignInMethod] = [.password, .phone]
        methods += Set(previous.linkedProviders.keys).union(next.linkedProviders.keys).map(SignInMethod.provider)
        if next.methodProofs[.emailLink] == nil { methods.append(.emailLink) }
        let setsPassword = change.password == .set
        func isNew(_ method: SignInMethod, _ new: MethodSnapshot, _ old: MethodSnapshot) -> Bool {
            guard new.wasThere else { return false }
            return !old.wasThere || new.identifier != old.identifier
        }
        var (before, added, removed): ([MethodSnapshot], [SignInMethod], [SignInMethod]) = ([], [], [])
        var replacesPassword = false
        for method in methods.sorted(by: { $0.name < $1.name }) {
            let (old, new) = (MethodSnapshot(method, of: previous), MethodSnapshot(method, of: next))
            let (isAdded, isRemoved) = (isNew(method, new, old), isNew(method, old, new))
            let isReplaced = method == .password && setsPassword && old.wasThere && new.wasThere
            if isAdded { added.append(method) }
            if isRemoved { removed.append(method) }
            if isReplaced { replacesPassword = true }
            if isAdded || isRemoved || isReplaced { before.append(old) }
        }
        self.before = before
        self.added = added
        self.removed = removed
        self.replacesPassword = replacesPassword
        self.numbers = (
            added.contains(.phone) ? next.phoneNumber : nil, removed.contains(.phone) ? previous.phoneNumber : nil
        )
    }
}

extension AccountChange {
    /// Returns false for a change that leaves the sign-in methods of its account alone, as most sign-ins do.
    package var touchesMethods: Bool {
        password != .keep || phone != .keep || emailLink == false || linkedIdentity != nil || !unlinkedProviders.isEmpty
    }
}

extension UserRecord {
    /// The record with the methods of `reversal` removed and restored. Every session ends.
    ///
    /// - `before`: the methods as they are restored. The hash of a password travels beside it.
    package func reverting(_ reversal: MethodReversal, to before: [MethodSnapshot], at now: Timestamp) -> UserRecord {
        var record = self
        func remove(_ method: SignInMethod) {
            record.methodProofs[method] = nil
            switch method {
            case .password: record.passwordUpdatedAt = nil
            case .emailLink: break
            case .phone: record.phoneNumber = nil
            case .provider(let provider): record.linkedProviders[provider] = nil
            }
        }
        for method in reversal.removed { remove(method) }
        for old in before where reversal.restored.contains(old.method) {
            record.methodProofs[old.method] = old.proof ?? MethodProof(proof: .message, provenAt: now)
            switch old.method {
            case .password: record.passwordUpdatedAt = now
            case .emailLink: break
            case .phone:
                record.phoneNumber = old.number
                record.unprovenPhoneNumber = nil
            case .provider(let provider): record.linkedProviders[provider] = old.linked
            }
        }
        record.endSessions(at: now)
        return record
    }
}

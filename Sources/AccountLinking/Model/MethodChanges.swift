/// A sign-in method of an account as it was before a change.
package struct MethodSnapshot: Sendable, Hashable {
    package var method: SignInMethod
    /// False if the account did not have the method.
    package var wasThere: Bool
    /// `nil` if it is unknown, or if the account did not have the method.
    package var proof: UserRecord.MethodProof?
    /// The number, if the method is `phone`.
    package var number: PhoneNumber?
    /// The identity, if the method is a provider.
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

    /// The state of `method` on `user`.
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

    /// The claim of the method.
    package var identifier: Identifier? { number.map(Identifier.phone) ?? linked.map { .federated($0.identity) } }
}

/// Effect of a change on the sign-in methods of an account, as its owner is notified. The first use of a mailed link is
/// not reported, because the mailbox's owner made it.
package struct MethodChanges: Sendable {
    /// The methods that the change adds, removes or replaces, as they were before, sorted by name.
    package let before: [MethodSnapshot]
    /// Sorted by name. A provider with another subject and a changed number are both added and removed.
    package let added: [SignInMethod]
    package let removed: [SignInMethod]
    /// True if the account had a password and gets another.
    package let replacesPassword: Bool
    /// The added and the removed number.
    package let numbers: (added: PhoneNumber?, removed: PhoneNumber?)

    package var isEmpty: Bool { before.isEmpty }

    package var methods: [SignInMethod] { before.map(\.method) }

    /// - `change`: turns `previous` into `next`.
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
    /// Returns false for a change that leaves sign-in methods unchanged, as most sign-ins do.
    package var touchesMethods: Bool {
        password != .keep || phone != .keep || emailLink == false || linkedIdentity != nil || !unlinkedProviders.isEmpty
    }
}

extension UserRecord {
    /// The record after `reversal`. Every session ends.
    ///
    /// - `before`: the methods to restore. A password's hash is passed separately.
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

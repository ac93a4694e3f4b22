import AccountLinking
import AccountStore

/// Values that all attempts of a request share, made before the first.
struct EmailCodeUse: Sendable {
    let hash: [UInt8]
    let tenant: TenantID
    let now: Timestamp
    /// Marks the code as consumed by this request, and names its event.
    let id: AccountEvent.ID
    /// Names the event of an account that loses its address.
    let lossID: AccountEvent.ID

    init(_ code: String, tenant: TenantID, effects: Effects) {
        self.init(hash: NewEmailCode.hash(of: code), tenant: tenant, effects: effects)
    }

    init(hash: [UInt8], tenant: TenantID, effects: Effects) {
        self.hash = hash
        self.tenant = tenant
        self.now = effects.now()
        self.id = effects.newEventID()
        self.lossID = effects.newEventID()
    }
}

extension AccountOperations {
    /// - Throws: the refusal of the rule, or a database error.
    func usableEmailCode(
        _ use: EmailCodeUse,
        as kinds: [EmailCodeRecord.Kind]
    ) async throws -> EmailCodeRecord {
        try fact(await findEmailCode(use, as: kinds))
    }

    func findEmailCode(
        _ use: EmailCodeUse,
        as kinds: [EmailCodeRecord.Kind]
    ) async throws -> Lookup<EmailCodeRecord, EmailCodeRefusal> {
        decideUseEmailCode(try await store.emailCode(use.hash, tenant: use.tenant), as: kinds, now: use.now)
    }

    /// Applies a change and consumes the code, in one transaction.
    ///
    /// - `session`: replaces the sessions that the change ends.
    /// - `loss`: the account that loses the address, and its change.
    /// - Returns: the changed account.
    /// - Throws: `FactsMoved`, or a database error.
    @discardableResult
    func apply(
        _ change: AccountChange,
        to user: UserRecord,
        _ rule: Rule,
        using code: EmailCodeRecord,
        _ use: EmailCodeUse,
        passwordHash: String? = nil,
        session: NewSession? = nil,
        recovery: EmailRecovery? = nil,
        decisions: [DecisionRecord] = [],
        sideWrites: [AccountWrite.SideWrite] = [],
        takingAddressFrom loss: (owner: UserRecord, change: AccountChange)? = nil
    ) async throws -> UserRecord {
        let changed = user.applying(change, ChangeContext(now: use.now, methodProof: .message))
        let write = AccountWrite(
            previous: user,
            user: changed,
            passwordHash: passwordHash,
            session: session?.record(for: changed, at: use.now),
            event: AccountEvent(
                id: use.id,
                occurredAt: use.now,
                kind: .init(updateWith: change),
                rule: rule,
                decisions: decisions
            ),
            sideWrites: try await [.useUp(code, by: use.id, at: use.now)]
                + self.sideWrites(of: change, from: user, to: changed, recovery: recovery, at: use.now) + sideWrites
        )
        var whole = try suspendingMethods(write, by: change)
        whole.sideWrites += settling(change, from: user, to: changed, by: code.newEmail ?? code.email)
        if code.kind == .passwordReset { whole.sideWrites += try changeNotice(whole, changedBy: change) }
        if let loss {
            let lost = try await self.write(loss.change, ofAddressOf: loss.owner, rule, use)
            try await store.apply(whole, takingAddressFrom: lost).requireApplied()
        } else {
            try await store.apply(whole).requireApplied()
        }
        return changed
    }

    private func write(
        _ change: AccountChange,
        ofAddressOf owner: UserRecord,
        _ rule: Rule,
        _ use: EmailCodeUse
    ) async throws -> AccountWrite {
        let left = owner.applying(change, ChangeContext(now: use.now, methodProof: .message))
        let write = AccountWrite(
            previous: owner,
            user: left,
            event: AccountEvent(id: use.lossID, occurredAt: use.now, kind: .userUpdated, rule: rule),
            sideWrites: try await sideWrites(of: change, from: owner, to: left, at: use.now)
        )
        return try suspendingMethods(write, by: change)
    }
}

import AccountLinking
import AccountStore

struct JudgedRevert: Sendable {
    /// `nil` if the account is deleted.
    let user: UserRecord?
    let verdict: Verdict<RevertDecision>
    let before: RevertibleMethods

    /// `nil` if the code is refused.
    var reversal: MethodReversal? {
        if case .revert(_, let reversal) = verdict.decision { reversal } else { nil }
    }
}

extension AccountOperations {
    /// - `isUse`: false to show the effect only, without reading the password's hash.
    func judgeRevert(_ code: EmailCodeRecord, isUse: Bool) async throws -> JudgedRevert {
        var user: UserRecord?
        var before = RevertibleMethods.none
        var taken: Set<SignInMethod> = []
        if let id = code.user {
            user = try await store.user(id, tenant: code.tenant)
            before = try await store.revertibleMethods(of: code, user: id, withHash: isUse, at: effects.now())
            let owned = try await store.identifiers(
                before.methods.compactMap(\.identifier),
                takenFrom: id,
                tenant: code.tenant
            )
            taken = Set(before.methods.filter { $0.identifier.map(owned.contains) ?? false }.map(\.method))
        }
        let verdict = decideRevertMethodChange(
            account: user?.account,
            isSameAccount: user.map { $0.createdAt <= code.createdAt } ?? false,
            before: before.methods,
            taken: taken
        )
        return JudgedRevert(user: user, verdict: verdict, before: before)
    }

    /// Restores the methods from before a change with the code of its mail: rules U18 to U23. If the account has left
    /// that mailbox, its present address gets a mail, if proven.
    ///
    /// If many callers present one code at once, the rules answer one of them. A concurrent change is decided again, or
    /// undone.
    /// - Throws: `FactsMoved`, `Denial`, or a database error.
    func applyRevert(_ code: EmailCodeRecord, _ use: EmailCodeUse) async throws -> AppliedEmailCode {
        let judged = try await judgeRevert(code, isUse: true)
        let rule = judged.verdict.rule
        switch judged.verdict.decision {
        case .refuse(let refusal): throw refused(.refusal(refusal), by: rule)
        case .revert(_, let reversal):
            guard let user = judged.user else { throw UnexpectedDecision(rule) }
            let reverted = user.reverting(reversal, to: judged.before.methods, at: use.now)
            var change = AccountChange()
            if reversal.restored.contains(.password) { change.password = .set }
            var write = AccountWrite(
                previous: user,
                user: reverted,
                passwordHash: change.password == .set ? judged.before.passwordHash : nil,
                event: AccountEvent(id: use.id, occurredAt: use.now, kind: .methodRestored, rule: rule),
                sideWrites: [
                    .useUp(code, by: use.id, at: use.now),
                    .voidLaterReverts(than: code, of: user.id, at: use.now),
                    // The session that made the change may have requested codes, and could return through a conflict.
                    .voidEmailCodes(of: user.id, tenant: user.tenant, .allButRecovery, at: use.now),
                    .supersedeLiveConflicts(of: user.id, tenant: user.tenant, at: use.now),
                ]
            )
            // The left mailbox may be a thief's.
            let notice =
                user.email?.address == code.email ? [] : try changeNotice(write, changedBy: change, isUndone: true)
            let changes = MethodChanges(change, from: user, to: reverted)
            write.sideWrites += notice + [.announce(changes, isMailed: !notice.isEmpty)]
            try await store.apply(write).requireApplied()
            return AppliedEmailCode(kind: code.kind, user: reverted, newEmail: nil, reversal: reversal)
        }
    }
}

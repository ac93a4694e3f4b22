import AccountLinking
import AccountStore

/// A code that brings sign-in methods back, judged with the account it is about.
struct JudgedRevert: Sendable {
    /// The account as it was loaded; `nil` when it is gone.
    let user: UserRecord?
    let verdict: Verdict<RevertDecision>
    /// The methods as they come back.
    let before: RevertibleMethods

    /// Effect of the code, unless it is refused.
    var reversal: MethodReversal? {
        if case .revert(_, let reversal) = verdict.decision { reversal } else { nil }
    }
}

extension AccountOperations {
    /// Judges a code that brings sign-in methods back.
    ///
    /// `isUse`: false to show what the code does. The hash of a password is then not read.
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

    /// Brings the sign-in methods of before a change back by the code of its mail: rows U18 to U23.
    ///
    /// If the code went to a mailbox that the account has left, a mail tells the owner of the present one, if it is proven.
    ///
    /// If many callers bring one code at once, the rules answer one of them. A change that runs beside it is judged anew, or undone by it.
    /// - Throws: `FactsMoved`, `Denial`, or what the database could not do.
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
                    // The session that made the change may have asked for others, and a conflict is how it would come back.
                    .voidEmailCodes(of: user.id, tenant: user.tenant, .allButRecovery, at: use.now),
                    .supersedeLiveConflicts(of: user.id, tenant: user.tenant, at: use.now),
                ]
            )
            // A code in a mailbox that the account has left may be a thief's.
            let notice =
                user.email?.address == code.email ? [] : try changeNotice(write, changedBy: change, isUndone: true)
            let changes = MethodChanges(change, from: user, to: reverted)
            write.sideWrites += notice + [.announce(changes, isMailed: !notice.isEmpty)]
            try await store.apply(write).requireApplied()
            return AppliedEmailCode(kind: code.kind, user: reverted, newEmail: nil, reversal: reversal)
        }
    }
}

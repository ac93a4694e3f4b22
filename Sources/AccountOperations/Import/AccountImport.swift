package import AccountLinking
package import AccountStore

/// Imports accounts in batches. A mistake in a row refuses that row alone.
package struct AccountImport: Sendable {
    /// Options for all rows of an import.
    package struct Options: Sendable {
        package var tenant: TenantID
        /// Conversion of the hashes; `nil` if there are none.
        package var hashing: ImportedHashing?
        /// True if a row replaces an existing account.
        package var allowsOverwrite = true

        package init(tenant: TenantID, hashing: ImportedHashing? = nil) {
            self.tenant = tenant
            self.hashing = hashing
        }
    }

    /// Results of the rows, by index.
    package struct Outcome: Sendable {
        package var created = 0
        package var replaced = 0
        package var unchanged = 0
        /// In the order of the rows.
        package var refused: [(index: Int, refusal: ImportRefusal)] = []

        package init() {}
    }

    /// Limit of the rows that are decided and written together.
    package static let rowsMax = 1000

    private let store: AccountStore
    private let passwords: PasswordHasher
    private let effects: Effects

    package init(store: AccountStore, passwords: PasswordHasher, effects: Effects) {
        self.store = store
        self.passwords = passwords
        self.effects = effects
    }

    /// Writes the rows in one transaction, without refused rows. A row that equals its account changes nothing, so that
    /// an import can be repeated.
    ///
    /// - `rows`: at most `rowsMax`.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a database error.
    package func apply(_ rows: [ImportedAccount], _ options: Options) async throws -> Outcome {
        let candidates = rows.map { row in
            Result { () throws(ImportRefusal) in
                try ImportCandidate(reading: row, tenant: options.tenant, hashing: options.hashing)
            }
        }
        // Made once: must not differ between attempts.
        let now = effects.now()
        let makings = candidates.map { _ in
            Making(event: effects.newEventID(), epoch: effects.newSessionEpoch(), factorID: effects.newLocalID())
        }
        var hashes: [Int: String] = [:]
        for (index, candidate) in candidates.enumerated() {
            guard case .success(let candidate) = candidate, case .plain(let text) = candidate.account.password else {
                continue
            }
            hashes[index] = try await passwords.hash(text, for: .administrator)
        }
        let read = candidates.compactMap { try? $0.get() }
        return try await retrying(effects) {
            let situation = try await store.importSituation(
                read.map(\.id),
                read.flatMap(\.identifiers),
                tenant: options.tenant,
                at: now
            )
            var (outcome, writes) = (Outcome(), [ImportWrite]())
            var claimed: [Identifier: UserID] = [:]
            var seen: Set<UserID> = []
            for (index, candidate) in candidates.enumerated() {
                var draft: Draft?
                if case .success(let candidate) = candidate {
                    draft = try await self.draft(
                        candidate,
                        plainHash: hashes[index],
                        situation,
                        makings[index],
                        at: now,
                        options
                    )
                }
                var row = candidate.map(\.facts)
                if let refusal = draft?.refusal { row = .failure(refusal) }
                let verdict = decideImportAccount(
                    row,
                    isRepeated: draft.map { seen.contains($0.user.id) } ?? false,
                    target: draft?.target ?? .none,
                    owners: owners(candidate, situation, claimed),
                    allowsOverwrite: options.allowsOverwrite
                )
                if let id = draft?.user.id { seen.insert(id) }
                switch verdict.decision {
                case .refuse(let refusal):
                    outcome.refused.append((index, refusal))
                    continue
                case .unchanged: outcome.unchanged += 1
                case .create: outcome.created += 1
                case .replace: outcome.replaced += 1
                }
                guard let draft, case .success(let candidate) = candidate else {
                    throw UnexpectedDecision(verdict.rule)
                }
                for identifier in candidate.identifiers { claimed[identifier] = candidate.id }
                guard verdict.decision != .unchanged else { continue }
                let event = AccountEvent(
                    id: makings[index].event,
                    occurredAt: now,
                    kind: .userImported,
                    rule: verdict.rule
                )
                writes.append(
                    ImportWrite(
                        previous: draft.previous,
                        user: draft.user,
                        passwordHash: draft.passwordHash,
                        event: event,
                        cleared: candidate.email.flatMap { situation.reserved[.email($0)] }
                    )
                )
            }
            try await store.importAccounts(writes, tenant: options.tenant).requireApplied()
            return outcome
        }
    }

    /// The owners of the identifiers that the row claims. An earlier row of the request counts like another account.
    private func owners(
        _ candidate: Result<ImportCandidate, ImportRefusal>,
        _ situation: ImportSituation,
        _ claimed: [Identifier: UserID]
    ) -> ImportOwners {
        guard case .success(let candidate) = candidate else { return ImportOwners() }
        func owner(_ identifier: Identifier) -> UserID? { claimed[identifier] ?? situation.owners[identifier] }
        return ImportOwners(
            ofEmail: candidate.email.flatMap { owner(.email($0)) },
            ofPhoneNumber: candidate.phoneNumber.flatMap { owner(.phone($0)) },
            ofIdentities: Set(candidate.identities.compactMap { owner(.federated($0.identity)) })
        )
    }

    /// Random values of one row.
    private struct Making {
        let event: AccountEvent.ID
        let epoch: Int64
        let factorID: String
    }

    /// The account that the row describes.
    private struct Draft {
        var previous: UserRecord?
        var user: UserRecord
        var passwordHash: String?
        var target: ImportTarget
        /// A refusal that depends on the existing account.
        var refusal: ImportRefusal?
    }

    private func draft(
        _ candidate: ImportCandidate,
        plainHash: String?,
        _ situation: ImportSituation,
        _ making: Making,
        at now: Timestamp,
        _ options: Options
    ) async throws -> Draft {
        let previous = situation.users[candidate.id]
        var (user, refusal) = record(candidate, previous, making, at: now, options.tenant)
        var hash = plainHash ?? candidate.hash?.text
        if let known = situation.passwordHashes[candidate.id], let previous,
            try await isSamePassword(candidate, hash, known, previous)
        {
            hash = nil
        }
        guard let previous else {
            let target: ImportTarget = situation.tombstones.contains(candidate.id) ? .mergedAway : .none
            return Draft(previous: nil, user: user, passwordHash: hash, target: target, refusal: refusal)
        }
        var asBefore = user
        // Sign-ins also write this field, and later: it counts as no difference.
        asBefore.lastLoginAt = previous.lastLoginAt
        if asBefore == previous, hash == nil {
            return Draft(previous: previous, user: user, target: .same, refusal: refusal)
        }
        if hash != nil, candidate.account.passwordUpdatedAt == nil { user.passwordUpdatedAt = now }
        if hash != nil { user.methodProofs[.password] = .init(proof: .imported, provenAt: now) }
        user.endSessions(at: now)
        return Draft(previous: previous, user: user, passwordHash: hash, target: .other, refusal: refusal)
    }

    /// Returns true if the account has the password that the row gives.
    ///
    /// A sign-in may have replaced an imported hash with a newer one of the same password. The import then leaves the
    /// newer hash: importing the same row again must not undo anything.
    private func isSamePassword(
        _ candidate: ImportCandidate,
        _ hash: String?,
        _ known: String,
        _ previous: UserRecord
    ) async throws -> Bool {
        guard let hash else { return false }
        if hash == known { return true }
        if case .plain(let text) = candidate.account.password {
            return !passwords.isOutdated(known)
                ? try await passwords.verify(text, against: known, for: .administrator) : false
        }
        return previous.methodProofs[.password]?.proof == .imported && !passwords.isOutdated(known)
            && passwords.isOutdated(hash)
    }

    /// The record that the row describes. Times of links and proofs, which a row does not contain, stay as they are.
    private func record(
        _ candidate: ImportCandidate,
        _ previous: UserRecord?,
        _ making: Making,
        at now: Timestamp,
        _ tenant: TenantID
    ) -> (user: UserRecord, refusal: ImportRefusal?) {
        let account = candidate.account
        var user =
            previous
            ?? UserRecord(
                tenant: tenant,
                id: candidate.id,
                sessionEpoch: making.epoch,
                createdAt: account.createdAt ?? now
            )
        if previous == nil {
            user.validSince = Timestamp(secondsSinceEpoch: now.secondsSinceEpoch)
            user.lastRefreshAt = account.lastRefreshAt
        }
        user.createdAt = user.createdAt.kept(over: account.createdAt)
        user.lastLoginAt = [user.lastLoginAt, account.lastLoginAt].compactMap(\.self).max()
        if let validSince = account.validSince { user.validSince = validSince }
        setEmail(candidate, of: &user, at: now)
        user.initialEmail = account.initialEmail ?? user.initialEmail
        user.profile = account.profile
        user.isDisabled = account.isDisabled
        let claims = account.customAttributes.flatMap(CustomClaims.stored)
        // Cleared claims count as no claims: a row without claims leaves such an account.
        if previous == nil || user.claims != nil || claims != UserRecord.noClaims && claims != nil {
            user.customAttributes = claims
        }
        user.usesCustomTokens = account.usesCustomTokens ?? user.usesCustomTokens

        var methods: Set<SignInMethod> = []
        if account.password != nil { methods.insert(.password) }
        user.passwordUpdatedAt =
            account.password == nil
            ? nil : user.passwordUpdatedAt?.kept(over: account.passwordUpdatedAt) ?? account.passwordUpdatedAt ?? now
        if account.hasEmailLink ?? (user.methodProofs[.emailLink] != nil) { methods.insert(.emailLink) }
        user.phoneNumber = candidate.phoneNumber
        if candidate.phoneNumber != nil {
            methods.insert(.phone)
            user.unprovenPhoneNumber = nil
        }
        var linked: [ProviderID: UserRecord.LinkedProvider] = [:]
        for (identity, described) in candidate.identities {
            methods.insert(.provider(identity.provider))
            linked[identity.provider] = described.row(identity, user.linkedProviders[identity.provider], at: now)
        }
        // A changed identity or number is a new method.
        for (provider, row) in user.linkedProviders where linked[provider]?.identity != row.identity {
            user.methodProofs[.provider(provider)] = nil
        }
        if previous?.phoneNumber != candidate.phoneNumber { user.methodProofs[.phone] = nil }
        user.linkedProviders = linked
        let proofs = methods.map { method in
            (method, user.methodProofs[method] ?? UserRecord.MethodProof(proof: .imported, provenAt: now))
        }
        user.methodProofs = Dictionary(uniqueKeysWithValues: proofs)
        let refusal = setFactors(candidate, of: &user, making, at: now)
        return (user, refusal)
    }

    private func setEmail(_ candidate: ImportCandidate, of user: inout UserRecord, at now: Timestamp) {
        let before = user.email
        user.email = candidate.email.map { AccountEmail(address: $0, proof: nil) }
        guard candidate.email != nil, candidate.account.isEmailVerified else {
            user.emailProvenAt = nil
            return
        }
        // An earlier proof is stronger than an administrator's word.
        let proof = before?.address == candidate.email ? before?.proof : nil
        user.email?.proof = proof ?? .administrator
        user.emailProvenAt = proof == nil ? now : user.emailProvenAt
    }

    /// The secret of an authenticator app cannot be imported. Any change to factors that include an app is refused.
    private func setFactors(
        _ candidate: ImportCandidate,
        of user: inout UserRecord,
        _ making: Making,
        at now: Timestamp
    ) -> ImportRefusal? {
        let before = user.secondFactors
        let wanted = candidate.factors.enumerated().compactMap { place, factor -> SecondFactor? in
            let known = before.first { $0.id == factor.id || factor.id == nil && $0.method == factor.method }
            guard let id = factor.id ?? known?.id ?? SecondFactorID("\(making.factorID)-\(place + 1)") else {
                return nil
            }
            return SecondFactor(
                id: id,
                method: factor.method,
                displayName: factor.displayName,
                enrolledAt: known?.enrolledAt.kept(over: factor.enrolledAt) ?? factor.enrolledAt ?? now
            )
        }
        guard wanted != before else { return nil }
        user.secondFactors = wanted
        return wanted.contains { $0.kind == .totp } ? .unsupportedSecondFactor : nil
    }
}

extension ImportedAccount.Identity {
    fileprivate func row(
        _ identity: ProviderIdentity,
        _ before: UserRecord.LinkedProvider?,
        at now: Timestamp
    ) -> UserRecord.LinkedProvider {
        let known = before?.identity == identity ? before : nil
        return UserRecord.LinkedProvider(
            identity: identity,
            issuer: known?.issuer,
            email: email.flatMap(EmailAddress.init),
            displayName: displayName,
            photoURL: photoURL,
            screenName: screenName,
            linkedAt: known?.linkedAt ?? now,
            updatedAt: known?.updatedAt ?? now
        )
    }
}

extension Timestamp {
    /// Returns `given`, unless it equals this instant to the millisecond, the precision of files. Then nothing has
    /// changed.
    fileprivate func kept(over given: Timestamp?) -> Timestamp {
        guard let given, given.millisecondsSinceEpoch != millisecondsSinceEpoch else { return self }
        return given
    }
}

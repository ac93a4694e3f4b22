public import Foundation

// The steps that settle a conflict. Each stores what it learnt before it returns.

extension AuthConflict {
    private static let path = "/concord/v1/conflict"

    /// Reads the conflict's state, and stores its address and end.
    ///
    /// An ``Kind/unprovenAddress`` is not readable: its owner answers the mail first. The state then comes from this
    /// client.
    ///
    /// - Throws: `conflictExpired`, `conflictClosed` or `conflictUnknown`: the conflict
    ///   has ended, and is removed from the store.
    public func read(in auth: Auth) async throws(AuthError) -> ConflictStatus {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            let conflict = try auth.newest(self)
            guard conflict.kind != .unprovenAddress else { return conflict.localStatus }
            var call = Call<ConflictWire>.get(Self.path, bearer: conflict.handle.text)
            if let proof = conflict.proof { call.headers["Concord-Proof"] = proof.token.text }
            do throws(AuthError) {
                let answer = try await conflict.ending(in: auth) { () throws(AuthError) in
                    try await auth.backend.call(call)
                }
                return try conflict.store(answer, in: auth)
            } catch {
                guard conflict.proof != nil, try auth.newest(self).proof == nil else { throw error }
                return try await read(in: auth)
            }
        }
    }

    /// Mails a code and a link to the address of the account. Five mails are sent for a conflict at most.
    ///
    /// For an ``Kind/unprovenAddress`` the refused sign-in mailed the code, and nothing more is sent.
    ///
    /// - Throws: `tooManyRequests` or `tooManyMails`; `proofNotOffered` if the project wants a sign-in.
    @discardableResult
    public func startProof(in auth: Auth) async throws(AuthError) -> ConflictStatus {
        let conflict = try auth.newest(self)
        guard conflict.kind != .unprovenAddress else { return conflict.localStatus }
        let call = Call<ConflictWire>.post(Self.path + "/proof", ["kind": "mailbox"], bearer: conflict.handle.text)
        let answer = try await conflict.ending(in: auth) { () throws(AuthError) in
            try await auth.backend.call(call.once())
        }
        return try conflict.store(answer, in: auth)
    }

    /// Proves the mailbox with the mailed code, and stores the proof.
    ///
    /// - Parameters:
    ///   - code: Eight digits. Blanks and hyphens do not count.
    ///   - auth: The client.
    /// - Returns: The changes that settling the conflict makes. Show them before ``resolve(_:in:)``.
    /// - Throws: `wrongProof` for a wrong code; five of them end the proof.
    @discardableResult
    public func prove(code: String, in auth: Auth) async throws(AuthError) -> ConflictProof {
        try await prove(["code": code.json], code, in: auth)
    }

    /// Proves the mailbox with the mailed link: `…/conflict#handle=…&proof=…` or
    /// `…/signin#signUp=…&proof=…`.
    ///
    /// - Throws: `invalidActionCode` if the address has no proof.
    @discardableResult
    public func prove(link: URL, in auth: Auth) async throws(AuthError) -> ConflictProof {
        guard let secret = link.fragmentParameters["proof"] else {
            throw AuthError(.invalidActionCode, "The link has no proof. Open the newest mail.")
        }
        return try await prove(["linkSecret": secret.json], secret, in: auth)
    }

    /// Proves the account with a session of it, and stores the proof.
    ///
    /// - Parameters:
    ///   - user: The owner of the account, signed in recently. It may be a user of another ``Auth``.
    ///   - auth: The client that has the conflict.
    /// - Returns: The changes that settling the conflict makes.
    /// - Throws: `requiresRecentLogin`; `proofRequired` if the session is another account's; `proofNotOffered` if the
    ///   project does not accept sessions.
    @discardableResult
    public func prove(with user: User, in auth: Auth) async throws(AuthError) -> ConflictProof {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            var conflict = try auth.newest(self)
            let body: [String: JSONValue?] = ["kind": "session", "idToken": try await user.getIDToken().json]
            let call = Call<ProvenConflictWire>.post(Self.path + "/proof", body, bearer: conflict.handle.text).once()
            let proven = try await conflict.ending(in: auth) { () throws(AuthError) in try await auth.backend.call(call)
            }
            return try conflict.store(proven, in: auth)
        }
    }

    /// Links the credential to the account and signs its owner in, in one step. For an address without an account, it
    /// creates the account.
    ///
    /// A repetition after a lost answer, also by a later process, gets the answer of the first request.
    ///
    /// - Parameters:
    ///   - proof: The proof that the person agreed to; `nil` for the stored one.
    ///   - auth: The client.
    /// - Returns: The user.
    /// - Throws: `proofRequired` without a proof; `proofExpired` and `proofStale`, which remove it from the store:
    ///   prove again. `secondFactorRequired` if the account has a second factor: use ``settle(with:in:)``.
    @discardableResult
    public func resolve(_ proof: ConflictProof? = nil, in auth: Auth) async throws(AuthError) -> AuthDataResult {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            let signOuts = try auth.keeper.read().signOuts
            var conflict = try auth.newest(self)
            guard let proof = proof ?? conflict.proof else {
                throw AuthError(.proofRequired, "Prove the mailbox first: startProof(in:), then prove(code:in:).")
            }
            conflict.proof = proof
            if conflict.kind == .unprovenAddress, proof.accountExists { conflict = try await conflict.opened(in: auth) }
            let token = (conflict.proof ?? proof).token
            let isNew = conflict.kind == .unprovenAddress
            let path = isNew ? PendingSignUp.path + ":create" : Self.path + ":resolve"
            let call = Call<SignInAnswer>.post(path, ["proofToken": token.text.json], bearer: conflict.handle.text)
                .once(Digest.idempotencyKey(conflict.handle, path, token.text))
            let result = try await conflict.ending(in: auth) { () throws(AuthError) in
                try await auth.signIn(
                    call,
                    for: .signIn(provider: providerID),
                    settling: conflict.handle,
                    since: signOuts
                )
            }
            return isNew ? result.ofNewUser : result
        }
    }

    /// Declines the conflict: its credential becomes unusable, and the account stays as it is.
    public func decline(in auth: Auth) async throws(AuthError) {
        let conflict = try auth.newest(self)
        let call = Call<Nothing>.post(Self.path + ":decline", bearer: conflict.handle.text)
            .once(Digest.idempotencyKey(conflict.handle, "decline"))
        _ = try await conflict.ending(in: auth) { () throws(AuthError) in try await auth.backend.call(call) }
        try auth.forget(conflict)
    }

    /// The credential that waits, for ``Auth/signIn(with:)`` and ``User/link(with:)``.
    public var credential: OAuthCredential {
        AuthCredential(providerID, .oauth(OAuthTokens(pendingToken: handle)))
    }

    // MARK: Wire

    private func prove(
        _ body: [String: JSONValue?],
        _ answer: String,
        in auth: Auth
    ) async throws(AuthError) -> ConflictProof {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            var conflict = try auth.newest(self)
            guard conflict.kind == .unprovenAddress else {
                let path = Self.path + "/proof:complete"
                let call = Call<ProvenConflictWire>.post(path, body, bearer: conflict.handle.text)
                    .once(Digest.idempotencyKey(conflict.handle, path, answer))
                let proven = try await conflict.ending(in: auth) { () throws(AuthError) in
                    try await auth.backend.call(call)
                }
                return try conflict.store(proven, in: auth)
            }
            // Otherwise an earlier call has proven it, and lost the answer to the next step.
            if conflict.proof?.accountExists != true {
                conflict.proof = try await PendingSignUp.prove(conflict, body, in: auth)
                try auth.replace(conflict)
            }
            if conflict.proof?.accountExists == true { conflict = try await conflict.opened(in: auth) }
            guard let proof = conflict.proof else { throw AuthError(.invalidServerAnswer, "the answer has no proof") }
            return proof
        }
    }

    /// Turns a proven sign-up into the proven conflict of the account that has the address.
    func opened(in auth: Auth) async throws(AuthError) -> AuthConflict {
        var conflict = self
        let opened = try await PendingSignUp.open(conflict, in: auth)
        conflict.handle = opened.pendingToken
        conflict.kind = .accountExists
        _ = try conflict.store(
            ProvenConflictWire(conflict: opened.conflict, proofToken: opened.proofToken),
            in: auth
        )
        return conflict
    }

    /// Takes and stores the proof of an answer.
    mutating func store(_ proven: ProvenConflictWire, in auth: Auth) throws(AuthError) -> ConflictProof {
        email = email ?? proven.conflict.email
        expireTime = proven.conflict.expireTime
        let proof = ConflictProof(
            suspended: proven.conflict.suspended ?? [],
            replaced: proven.conflict.replaced ?? [],
            signInMethods: proven.conflict.signInMethods ?? [],
            accountExists: true,
            expireTime: proven.conflict.proof?.expireTime,
            token: proven.proofToken
        )
        self.proof = proof
        try auth.replace(self)
        return proof
    }

    private func store(_ answer: ConflictWire, in auth: Auth) throws(AuthError) -> ConflictStatus {
        var conflict = try auth.newest(self)
        conflict.email = conflict.email ?? answer.email
        conflict.expireTime = answer.expireTime
        let status = answer.status
        switch status.state {
        case .open, .proven, .unknown: try auth.replace(conflict)
        case .resolved, .declined, .expired, .superseded: try auth.forget(conflict)
        }
        return status
    }

    /// Runs a request. If the server says that the conflict has ended, it leaves the store; if only its proof has, the
    /// proof does.
    func ending<Answer>(
        in auth: Auth,
        _ request: () async throws(AuthError) -> Answer
    ) async throws(AuthError) -> Answer {
        do {
            return try await request()
        } catch {
            let hasEnded =
                switch error.code {
                case .conflictClosed, .conflictExpired, .conflictUnknown: true
                case .codeUnusable: kind == .unprovenAddress
                default: false
                }
            if hasEnded {
                try auth.forget(self)
            } else if proof != nil, isOver(error.code) {
                var unproven = self
                unproven.proof = nil
                try auth.replace(unproven)
            }
            throw error
        }
    }

    /// True if a refusal says that the stored proof is over. Sign-ups have one refusal for no proof and an old one.
    private func isOver(_ code: AuthErrorCode) -> Bool {
        switch code {
        case .proofExpired, .proofStale: true
        case .proofRequired: kind == .unprovenAddress
        default: false
        }
    }

    /// The state of a sign-up that waits for its mailbox. Concord stores it for six hours.
    private var localStatus: ConflictStatus {
        ConflictStatus(
            state: proof == nil ? .open : .proven,
            email: email,
            openTime: receiveTime,
            expireTime: receiveTime.addingTimeInterval(21_600),
            attemptsLeft: nil
        )
    }
}

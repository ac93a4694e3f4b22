import AccountLinking
import JSON

// Questions as they are kept, both ways. What is written once is never renamed: a decision of last year is asked again.

extension Question {
    /// The question's name and its facts.
    func write(to writer: inout JSONWriter) {
        switch self {
        case .signIn(.idp(let accounts, let credential, let isProviderEnabled, let createsUsers, let prover)):
            writer.field("question", "signInWithIdp")
            writer.field("identityOwner", accounts.identityOwner)
            writer.field("emailOwner", accounts.emailOwner)
            writer.field("credential", credential)
            writer.field("providerEnabled", isProviderEnabled)
            writer.field("createsUsers", createsUsers)
            writer.field("secondFactorProvenBy", prover?.rawValue)
        case .signIn(.linkIdp(let target, let accounts, let credential, let isProviderEnabled, let prover, let request)):
            writer.field("question", "linkWithIdp")
            writer.field("target", target)
            writer.field("identityOwner", accounts.identityOwner)
            writer.field("emailOwner", accounts.emailOwner)
            writer.field("credential", credential)
            writer.field("providerEnabled", isProviderEnabled)
            writer.field("secondFactorProvenBy", prover?.rawValue)
            writer.field("sessionRecent", request.isSessionRecent)
            if request.settlesConflict { writer.field("settlesConflict", true) }
        case .signIn(.emailLink(let email, let owner, let target, let isSessionRecent, let prover)):
            writer.field("question", "signInWithEmailLink")
            writer.field("email", email.canonical)
            writer.field("owner", owner)
            writer.field("target", target)
            writer.field("sessionRecent", isSessionRecent)
            writer.field("secondFactorProvenBy", prover?.rawValue)
        case .signIn(.phone(let number, let owner, let target, let operation, let proof, let isSessionRecent)):
            writer.field("question", "signInWithPhone")
            writer.field("phone", number.rawValue)
            writer.field("owner", owner)
            writer.field("target", target)
            writer.field("operation", operation.rawValue)
            writer.field("shownBy", proof.rawValue)
            writer.field("sessionRecent", isSessionRecent)
        case .signIn(.password(let owner, let isLocked, let passwordMatches, let prover)):
            writer.field("question", "signInWithPassword")
            writer.field("owner", owner)
            writer.field("locked", isLocked)
            writer.field("passwordMatches", passwordMatches)
            writer.field("secondFactorProvenBy", prover?.rawValue)
        case .signIn(.signUp(let request, let emailOwner, let displayName)):
            switch request {
            case .anonymous:
                writer.field("question", "signUpAnonymously")
            case .password(let email):
                writer.field("question", "signUp")
                writer.field("email", email.canonical)
            case .linkPassword(let email, let target, let isSessionRecent):
                writer.field("question", "linkPassword")
                writer.field("email", email.canonical)
                writer.field("target", target)
                writer.field("sessionRecent", isSessionRecent)
            }
            writer.field("emailOwner", emailOwner)
            if displayName != nil { writer.field("named", true) }
        case .signIn(.customToken(let existing, let isMergedAway)):
            writer.field("question", "signInWithCustomToken")
            writer.field("existing", existing)
            if isMergedAway { writer.field("mergedAway", true) }
        case .signIn(.reserved(let question, let reservation)):
            Question.signIn(question).write(to: &writer)
            writer.field("reserved", reservation)
        case .update(.removeMethod(let account, let enabledProviders, let method, let isSessionRecent)):
            writer.field("question", "removeMethod")
            writer.field("account", account)
            writer.field("enabledProviders", enabledProviders.sorted().map(\.rawValue))
            writer.field("method", method.name)
            writer.field("sessionRecent", isSessionRecent)
        case .update(.unlink(let account, let enabledProviders, let removal, let request)):
            writer.field("question", "unlink")
            writer.field("account", account)
            writer.field("enabledProviders", enabledProviders.sorted().map(\.rawValue))
            writer.field("providers", removal.providers.sorted().map(\.rawValue))
            if removal.email { writer.field("removesEmail", true) }
            if removal.password { writer.field("removesPassword", true) }
            if removal.emailLink { writer.field("removesEmailLink", true) }
            switch request {
            case .administrator: writer.field("administrator", true)
            case .client(let isSessionRecent): writer.field("sessionRecent", isSessionRecent)
            }
        case .update(.restorePassword(let account, let isQuarantined, let isSessionRecent, let isLocked, let matches)):
            writer.field("question", "restorePassword")
            writer.field("account", account)
            writer.field("quarantined", isQuarantined)
            writer.field("sessionRecent", isSessionRecent)
            writer.field("locked", isLocked)
            writer.field("passwordMatches", matches)
        case .update(.resetPassword(let account, let address)):
            writer.field("question", "resetPassword")
            writer.field("account", account)
            writer.field("email", address.canonical)
        case .update(.verifyEmail(let account, let address, let answer)):
            writer.field("question", "verifyEmail")
            writer.field("account", account)
            writer.field("email", address.canonical)
            switch answer {
            case .confirm(let session): writer.field("session", session.rawValue)
            case .disown: writer.field("disowned", true)
            }
        case .update(.updateByAdmin(let account, let update, let emailOwner, let phoneOwner, let identityOwner)):
            writer.field("question", "updateByAdmin")
            writer.field("account", account)
            writer.field("email", update.email?.canonical)
            writer.field("emailVerified", update.isEmailVerified)
            if update.setsPassword { writer.field("setsPassword", true) }
            writer.field("phone", update.phoneNumber?.rawValue)
            writer.field("disabled", update.isDisabled)
            writer.field("provider", update.identity?.provider.rawValue)
            writer.field("subject", update.identity?.subject)
            if update.revokesSessions { writer.field("revokesSessions", true) }
            writer.field("emailOwner", emailOwner)
            writer.field("phoneOwner", phoneOwner)
            writer.field("identityOwner", identityOwner)
        case .resolution(let question):
            writer.field("question", "resolveConflict")
            writer.field("conflict", object: { writer in writer.fields(of: question.conflict) })
            writer.field("handleTenant", question.handleTenant.rawValue)
            writer.field("prover", question.isProver)
            writer.field("target", question.target)
            writer.field("identityOwner", question.identityOwner?.rawValue)
            writer.field("emailOwner", question.emailOwner?.rawValue)
            writer.field("credential", question.credential)
            writer.field("providerEnabled", question.isProviderEnabled)
            writer.field("now", question.now.microsecondsSinceEpoch)
            if let reservation = question.reservation { writer.field("reserved", reservation) }
        }
    }

    /// The inverse of `write`; `nil` for what this version does not know.
    init?(stored value: JSONValue) {
        guard let question = Question(withoutReservation: value) else { return nil }
        self = question
        guard let stored = value["reserved"] else { return }
        guard let reservation = AddressReservation(stored: stored) else { return nil }
        switch question {
        case .signIn(let question): self = .signIn(question.respecting(reservation))
        case .resolution(var question):
            question.reservation = reservation
            self = .resolution(question)
        case .update: return nil
        }
    }

    private init?(withoutReservation value: JSONValue) {
        guard let name = value["question"]?.string else { return nil }
        func isTrue(_ name: String) -> Bool { value[name] == .bool(true) }
        // Links and numbers that an older version recorded do not say it.
        let wasSessionRecent = value["sessionRecent"]?.bool ?? true
        let prover = value["secondFactorProvenBy"]?.string.flatMap(UserID.init)
        let accounts = MatchingAccounts(
            identityOwner: value["identityOwner"].flatMap(Account.init(stored:)),
            emailOwner: value["emailOwner"].flatMap(Account.init(stored:))
        )
        let email = value["email"]?.string.flatMap(EmailAddress.init)
        let credential = value["credential"].flatMap(IncomingCredential.init(stored:))
        func account(_ name: String) -> Account? { value[name].flatMap(Account.init(stored:)) }

        func providers(_ name: String) -> Set<ProviderID> {
            Set(value[name]?.array?.compactMap { $0.string.flatMap(ProviderID.init) } ?? [])
        }

        switch name {
        case "signInWithIdp":
            guard let credential else { return nil }
            self = .signIn(
                .idp(
                    accounts: accounts,
                    credential: credential,
                    isProviderEnabled: isTrue("providerEnabled"),
                    createsUsers: isTrue("createsUsers"),
                    secondFactorProvenBy: prover
                )
            )
        case "linkWithIdp":
            guard let credential, let target = account("target") else { return nil }
            self = .signIn(
                .linkIdp(
                    target: target,
                    accounts: accounts,
                    credential: credential,
                    isProviderEnabled: isTrue("providerEnabled"),
                    secondFactorProvenBy: prover,
                    request: LinkRequest(
                        isSessionRecent: wasSessionRecent,
                        settlesConflict: isTrue("settlesConflict")
                    )
                )
            )
        case "signInWithEmailLink":
            guard let email else { return nil }
            self = .signIn(
                .emailLink(
                    email: email,
                    owner: account("owner"),
                    target: account("target"),
                    isSessionRecent: isTrue("sessionRecent"),
                    secondFactorProvenBy: prover
                )
            )
        case "signInWithPhone":
            guard let number = value["phone"]?.string.flatMap({ PhoneNumber($0) }),
                let operation = value["operation"]?.string.flatMap(PhoneOperation.init(rawValue:)),
                let proof = value["shownBy"]?.string.flatMap(PhoneProof.init(rawValue:))
            else { return nil }
            self = .signIn(
                .phone(
                    number: number,
                    owner: account("owner"),
                    target: account("target"),
                    operation: operation,
                    shownBy: proof,
                    isSessionRecent: wasSessionRecent
                )
            )
        case "signInWithPassword":
            self = .signIn(
                .password(
                    owner: account("owner"),
                    isLocked: isTrue("locked"),
                    passwordMatches: isTrue("passwordMatches"),
                    secondFactorProvenBy: prover
                )
            )
        case "signUpAnonymously", "signUp", "linkPassword":
            let request: SignUpRequest
            switch (name, email, account("target")) {
            case ("signUpAnonymously", _, _): request = .anonymous
            case ("signUp", let email?, _): request = .password(email)
            case ("linkPassword", let email?, let target?):
                request = .linkPassword(email, to: target, isSessionRecent: isTrue("sessionRecent"))
            default: return nil
            }
            self = .signIn(
                .signUp(request, emailOwner: accounts.emailOwner, displayName: isTrue("named") ? "name" : nil)
            )
        case "signInWithCustomToken":
            self = .signIn(.customToken(existing: account("existing"), isMergedAway: isTrue("mergedAway")))
        case "removeMethod":
            guard let account = account("account"),
                let method = value["method"]?.string.flatMap(SignInMethod.init(name:))
            else { return nil }
            self = .update(
                .removeMethod(
                    account: account,
                    enabledProviders: providers("enabledProviders"),
                    method: method,
                    isSessionRecent: isTrue("sessionRecent")
                )
            )
        case "restorePassword":
            guard let account = account("account") else { return nil }
            self = .update(
                .restorePassword(
                    account: account,
                    isQuarantined: isTrue("quarantined"),
                    isSessionRecent: isTrue("sessionRecent"),
                    isLocked: isTrue("locked"),
                    passwordMatches: isTrue("passwordMatches")
                )
            )
        case "unlink":
            guard let account = account("account") else { return nil }
            let removal = Removal(
                providers: providers("providers"),
                email: isTrue("removesEmail"),
                password: isTrue("removesPassword"),
                emailLink: isTrue("removesEmailLink")
            )
            let request: RequestOrigin =
                isTrue("administrator") ? .administrator : .client(isSessionRecent: isTrue("sessionRecent"))
            self = .update(
                .unlink(
                    account: account,
                    enabledProviders: providers("enabledProviders"),
                    removal: removal,
                    request: request
                )
            )
        case "resetPassword":
            guard let email else { return nil }
            self = .update(.resetPassword(account: account("account"), address: email))
        case "verifyEmail":
            let session = value["session"]?.string.flatMap(ProvingSession.init(rawValue:))
            guard let email,
                let answer = isTrue("disowned") ? .disown : session.map(VerifyEmailAnswer.confirm)
            else { return nil }
            self = .update(.verifyEmail(account: account("account"), address: email, answer: answer))
        case "updateByAdmin":
            let update = AdminUpdate(
                email: email,
                isEmailVerified: value["emailVerified"]?.bool,
                setsPassword: isTrue("setsPassword"),
                phoneNumber: value["phone"]?.string.flatMap { PhoneNumber($0) },
                isDisabled: value["disabled"]?.bool,
                identity: ProviderIdentity(provider: value["provider"], subject: value["subject"]),
                revokesSessions: isTrue("revokesSessions")
            )
            self = .update(
                .updateByAdmin(
                    account: account("account"),
                    update: update,
                    emailOwner: accounts.emailOwner,
                    phoneOwner: account("phoneOwner"),
                    identityOwner: accounts.identityOwner
                )
            )
        case "resolveConflict":
            guard let credential, let conflict = value["conflict"].flatMap(ConflictFacts.init(stored:)),
                let now = value["now"]?.integer
            else { return nil }
            self = .resolution(
                ResolutionQuestion(
                    conflict: conflict,
                    handleTenant: TenantID(value["handleTenant"]?.string ?? ""),
                    isProver: isTrue("prover"),
                    target: account("target"),
                    identityOwner: value["identityOwner"]?.string.flatMap(UserID.init),
                    emailOwner: value["emailOwner"]?.string.flatMap(UserID.init),
                    credential: credential,
                    isProviderEnabled: isTrue("providerEnabled"),
                    now: Timestamp(microsecondsSinceEpoch: now)
                )
            )
        default: return nil
        }
    }
}

// MARK: What questions are made of

extension AddressReservation {
    fileprivate init?(stored value: JSONValue) {
        guard let address = value["email"]?.string.flatMap(EmailAddress.init),
            let account = value["account"]?.string.flatMap(UserID.init)
        else { return nil }
        self.init(address: address, account: account, wasProven: value["wasProven"] == .bool(true))
    }
}

extension JSONWriter {
    fileprivate mutating func field(_ name: String, _ account: Account?) {
        guard let account else { return }
        field(
            name,
            object: { writer in
                writer.field("id", account.id.rawValue)
                writer.field("version", account.version)
                writer.field("sessionEpoch", account.sessionEpoch)
                if account.isDisabled { writer.field("disabled", true) }
                writer.field("email", account.email?.address.canonical)
                writer.field("emailProof", account.email?.proof?.name)
                if account.hasInitialEmail { writer.field("initialEmail", true) }
                if account.hasPassword { writer.field("password", true) }
                if account.hasEmailLink { writer.field("emailLink", true) }
                writer.field("phone", account.phoneNumber?.rawValue)
                if !account.linkedProviders.isEmpty {
                    writer.field(
                        "providers",
                        object: { writer in
                            for (provider, subject) in account.linkedProviders {
                                writer.field(provider.rawValue, subject)
                            }
                        }
                    )
                    let issuers = account.linkedProviders.compactMap { provider, _ in
                        account.linkedProviders.issuer(of: provider).map { (provider, $0) }
                    }
                    if !issuers.isEmpty {
                        writer.field(
                            "issuers",
                            object: { writer in
                                for (provider, issuer) in issuers { writer.field(provider.rawValue, issuer) }
                            }
                        )
                    }
                }
                if account.hasSecondFactor { writer.field("secondFactor", true) }
                if account.usesCustomTokens { writer.field("customTokens", true) }
            }
        )
    }

    fileprivate mutating func field(_ name: String, _ reservation: AddressReservation) {
        field(
            name,
            object: { writer in
                writer.field("email", reservation.address.canonical)
                writer.field("account", reservation.account.rawValue)
                if reservation.wasProven { writer.field("wasProven", true) }
            }
        )
    }

    fileprivate mutating func field(_ name: String, _ credential: IncomingCredential) {
        field(
            name,
            object: { writer in
                writer.field("provider", credential.identity.provider.rawValue)
                writer.field("subject", credential.identity.subject)
                writer.field("issuer", credential.issuer)
                if case .present(let address, let flag, let hostedDomain) = credential.email {
                    writer.field("email", address.canonical)
                    writer.field("flaggedVerified", flag.value)
                    writer.field("hostedDomain", hostedDomain)
                }
            }
        )
    }

    fileprivate mutating func fields(of conflict: ConflictFacts) {
        field("state", conflict.state.rawValue)
        field("expiresAt", conflict.expiresAt.microsecondsSinceEpoch)
        field("tenant", conflict.tenant.rawValue)
        field("account", conflict.account.rawValue)
        guard let proof = conflict.proof else { return }
        field(
            "proof",
            object: { writer in
                writer.field("kind", proof.binding.kind.rawValue)
                writer.field("sessionEpoch", proof.binding.sessionEpoch)
                writer.field("policyVersion", proof.binding.policyVersion)
                writer.field("email", proof.binding.address?.canonical)
                writer.field("attempts", Int64(proof.attempts))
                writer.field("expiresAt", proof.expiresAt.microsecondsSinceEpoch)
            }
        )
    }
}

extension Account {
    fileprivate init?(stored value: JSONValue) {
        guard let id = value["id"]?.string.flatMap(UserID.init), let version = value["version"]?.integer,
            let epoch = value["sessionEpoch"]?.integer
        else { return nil }
        func isTrue(_ name: String) -> Bool { value[name] == .bool(true) }
        var linked: [(identity: ProviderIdentity, issuer: String?)] = []
        for (name, subject) in value["providers"]?.object ?? [:] {
            guard let provider = ProviderID(name), let subject = subject.string,
                let identity = ProviderIdentity(provider: provider, subject: subject)
            else { return nil }
            linked.append((identity, value["issuers"]?[name]?.string))
        }
        self.init(
            id: id,
            version: version,
            sessionEpoch: epoch,
            isDisabled: isTrue("disabled"),
            email: value["email"]?.string.flatMap(EmailAddress.init).map {
                AccountEmail(address: $0, proof: value["emailProof"]?.string.flatMap(EmailProof.init(name:)))
            },
            hasInitialEmail: isTrue("initialEmail"),
            hasPassword: isTrue("password"),
            hasEmailLink: isTrue("emailLink"),
            phoneNumber: value["phone"]?.string.flatMap { PhoneNumber($0) },
            linkedProviders: LinkedSubjects(linked),
            hasSecondFactor: isTrue("secondFactor"),
            usesCustomTokens: isTrue("customTokens")
        )
    }
}

extension ProviderIdentity {
    fileprivate init?(provider: JSONValue?, subject: JSONValue?) {
        guard let provider = provider?.string.flatMap(ProviderID.init), let subject = subject?.string else {
            return nil
        }
        self.init(provider: provider, subject: subject)
    }
}

extension IncomingCredential {
    fileprivate init?(stored value: JSONValue) {
        guard let identity = ProviderIdentity(provider: value["provider"], subject: value["subject"]) else {
            return nil
        }
        let email = value["email"]?.string.flatMap(EmailAddress.init).map { address in
            EmailAssertion.present(
                address,
                flag: VerifiedFlag(value["flaggedVerified"]?.bool),
                hostedDomain: value["hostedDomain"]?.string
            )
        }
        self.init(identity: identity, issuer: value["issuer"]?.string, email: email ?? .absent, profile: Profile())
    }
}

extension ConflictFacts {
    fileprivate init?(stored value: JSONValue) {
        guard let state = value["state"]?.string.flatMap(State.init(rawValue:)),
            let expiresAt = value["expiresAt"]?.integer, let tenant = value["tenant"]?.string,
            let account = value["account"]?.string.flatMap(UserID.init)
        else { return nil }
        self.init(
            state: state,
            expiresAt: Timestamp(microsecondsSinceEpoch: expiresAt),
            tenant: TenantID(tenant),
            account: account,
            proof: value["proof"].flatMap(ConflictProofFacts.init(stored:))
        )
    }
}

extension ConflictProofFacts {
    fileprivate init?(stored value: JSONValue) {
        guard let kind = value["kind"]?.string.flatMap(ConflictProofKind.init(rawValue:)),
            let epoch = value["sessionEpoch"]?.integer, let policyVersion = value["policyVersion"]?.integer,
            let attempts = value["attempts"]?.integer, let expiresAt = value["expiresAt"]?.integer
        else { return nil }
        self.init(
            binding: ProofBinding(
                kind: kind,
                sessionEpoch: epoch,
                policyVersion: policyVersion,
                address: value["email"]?.string.flatMap(EmailAddress.init)
            ),
            attempts: Int(attempts),
            expiresAt: Timestamp(microsecondsSinceEpoch: expiresAt)
        )
    }
}

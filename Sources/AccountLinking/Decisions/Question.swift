/// What the rules are asked when somebody signs in or links, with every fact they look at.
///
/// A question is a value, so that it can be kept beside its answer, asked again, and asked with one fact otherwise.
package enum SignInQuestion: Sendable, Hashable {
    case idp(
        accounts: MatchingAccounts,
        credential: IncomingCredential,
        isProviderEnabled: Bool,
        createsUsers: Bool,
        secondFactorProvenBy: UserID?
    )
    case linkIdp(
        target: Account,
        accounts: MatchingAccounts,
        credential: IncomingCredential,
        isProviderEnabled: Bool,
        secondFactorProvenBy: UserID?,
        request: LinkRequest
    )
    case emailLink(
        email: EmailAddress,
        owner: Account?,
        target: Account?,
        isSessionRecent: Bool,
        secondFactorProvenBy: UserID?
    )
    case phone(
        number: PhoneNumber,
        owner: Account?,
        target: Account?,
        operation: PhoneOperation,
        shownBy: PhoneProof,
        isSessionRecent: Bool
    )
    case password(owner: Account?, isLocked: Bool, passwordMatches: Bool, secondFactorProvenBy: UserID?)
    case signUp(SignUpRequest, emailOwner: Account?, displayName: String?)
    case customToken(existing: Account?, isMergedAway: Bool)
    /// The same, where the address that it is about is reserved.
    indirect case reserved(SignInQuestion, AddressReservation)

    /// The question with what stands on the address that it is about; the question itself for `nil`.
    package func respecting(_ reservation: AddressReservation?) -> SignInQuestion {
        reservation.map { .reserved(self, $0) } ?? self
    }

    package func verdict(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        switch self {
        case .idp(let accounts, let credential, let isProviderEnabled, let createsUsers, let prover):
            decideSignInWithIdp(
                policy: policy,
                accounts: accounts,
                credential: credential,
                isProviderEnabled: isProviderEnabled,
                createsUsers: createsUsers,
                secondFactorProvenBy: prover
            )
        case .linkIdp(let target, let accounts, let credential, let isProviderEnabled, let prover, let request):
            decideLinkWithIdp(
                policy: policy,
                target: target,
                accounts: accounts,
                credential: credential,
                isProviderEnabled: isProviderEnabled,
                secondFactorProvenBy: prover,
                request: request
            )
        case .emailLink(let email, let owner, let target, let isSessionRecent, let prover):
            decideSignInWithEmailLink(
                policy: policy,
                email: email,
                owner: owner,
                target: target,
                isSessionRecent: isSessionRecent,
                secondFactorProvenBy: prover
            )
        case .phone(let number, let owner, let target, let operation, let proof, let isSessionRecent):
            decideSignInWithPhone(
                policy: policy,
                number: number,
                owner: owner,
                target: target,
                operation: operation,
                shownBy: proof,
                isSessionRecent: isSessionRecent
            )
        case .password(let owner, let isLocked, let passwordMatches, let prover):
            decideSignInWithPassword(
                policy: policy,
                owner: owner,
                isLocked: isLocked,
                passwordMatches: passwordMatches,
                secondFactorProvenBy: prover
            )
        case .signUp(let request, let emailOwner, let displayName):
            decideSignUp(policy: policy, request: request, emailOwner: emailOwner, displayName: displayName)
        case .customToken(let existing, let isMergedAway):
            decideSignInWithCustomToken(existing: existing, isMergedAway: isMergedAway)
        case .reserved(let question, let reservation): question.verdict(policy).respecting(reservation)
        }
    }
}

/// What the rules are asked when methods are taken off an account or given back, or an administrator changes it.
package enum UpdateQuestion: Sendable, Hashable {
    case unlink(account: Account, enabledProviders: Set<ProviderID>, removal: Removal, request: RequestOrigin)
    case removeMethod(account: Account, enabledProviders: Set<ProviderID>, method: SignInMethod, isSessionRecent: Bool)
    case restorePassword(
        account: Account,
        isQuarantined: Bool,
        isSessionRecent: Bool,
        isLocked: Bool,
        passwordMatches: Bool
    )
    case resetPassword(account: Account?, address: EmailAddress)
    case verifyEmail(account: Account?, address: EmailAddress, answer: VerifyEmailAnswer)
    case updateByAdmin(
        account: Account?,
        update: AdminUpdate,
        emailOwner: Account?,
        phoneOwner: Account?,
        identityOwner: Account?
    )

    package func verdict(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        switch self {
        case .unlink(let account, let enabledProviders, let removal, let request):
            decideUnlink(
                policy: policy,
                enabledProviders: enabledProviders,
                account: account,
                removal: removal,
                request: request
            )
        case .removeMethod(let account, let enabledProviders, let method, let isSessionRecent):
            decideRemoveMethod(
                policy: policy,
                enabledProviders: enabledProviders,
                account: account,
                method: method,
                isSessionRecent: isSessionRecent
            )
        case .restorePassword(let account, let isQuarantined, let isSessionRecent, let isLocked, let passwordMatches):
            decideRestorePassword(
                policy: policy,
                account: account,
                isQuarantined: isQuarantined,
                isSessionRecent: isSessionRecent,
                isLocked: isLocked,
                passwordMatches: passwordMatches
            )
        case .resetPassword(let account, let address):
            decideResetPassword(policy: policy, account: account, address: address)
        case .verifyEmail(let account, let address, let answer):
            decideVerifyEmail(policy: policy, account: account, address: address, answer: answer)
        case .updateByAdmin(let account, let update, let emailOwner, let phoneOwner, let identityOwner):
            decideUpdateByAdmin(
                account: account,
                update: update,
                emailOwner: emailOwner,
                phoneOwner: phoneOwner,
                identityOwner: identityOwner
            )
        }
    }
}

/// What the rules are asked when a conflict is to be settled.
package struct ResolutionQuestion: Sendable, Hashable {
    package var conflict: ConflictFacts
    package var handleTenant: TenantID
    package var isProver: Bool
    package var target: Account?
    package var identityOwner: UserID?
    /// The account that has the address of the credential.
    package var emailOwner: UserID?
    package var credential: IncomingCredential
    package var isProviderEnabled: Bool
    /// What stands on the address of the credential.
    package var reservation: AddressReservation?
    package var now: Timestamp

    package init(
        conflict: ConflictFacts,
        handleTenant: TenantID,
        isProver: Bool,
        target: Account?,
        identityOwner: UserID?,
        emailOwner: UserID? = nil,
        credential: IncomingCredential,
        isProviderEnabled: Bool,
        reservation: AddressReservation? = nil,
        now: Timestamp
    ) {
        self.conflict = conflict
        self.handleTenant = handleTenant
        self.isProver = isProver
        self.target = target
        self.identityOwner = identityOwner
        self.emailOwner = emailOwner
        self.credential = credential
        self.isProviderEnabled = isProviderEnabled
        self.reservation = reservation
        self.now = now
    }

    package func verdict(_ policy: LinkPolicy) -> Verdict<ResolutionDecision> {
        decideResolveConflict(
            policy: policy,
            conflict: conflict,
            handleTenant: handleTenant,
            isProver: isProver,
            target: target,
            identityOwner: identityOwner,
            emailOwner: emailOwner,
            credential: credential,
            isProviderEnabled: isProviderEnabled,
            now: now
        ).respecting(reservation)
    }
}

/// Any question whose answer is kept: every sign-in, link, unlink and settled conflict.
package enum Question: Sendable, Hashable {
    case signIn(SignInQuestion)
    case update(UpdateQuestion)
    case resolution(ResolutionQuestion)

    package func rule(_ policy: LinkPolicy) -> Rule {
        switch self {
        case .signIn(let question): question.verdict(policy).rule
        case .update(let question): question.verdict(policy).rule
        case .resolution(let question): question.verdict(policy).rule
        }
    }
}

extension Question {
    /// The accounts that the question is about.
    package var accounts: [Account] {
        switch self {
        case .signIn(let question): question.accounts
        case .update(let question): question.accounts
        case .resolution(let question): [question.target].compactMap(\.self)
        }
    }
}

extension SignInQuestion {
    fileprivate var accounts: [Account] {
        switch self {
        case .idp(let accounts, _, _, _, _): [accounts.identityOwner, accounts.emailOwner].compactMap(\.self)
        case .linkIdp(let target, let accounts, _, _, _, _):
            [target, accounts.identityOwner, accounts.emailOwner].compactMap(\.self)
        case .emailLink(_, let owner, let target, _, _), .phone(_, let owner, let target, _, _, _):
            [owner, target].compactMap(\.self)
        case .password(let owner, _, _, _), .signUp(_, let owner, _), .customToken(let owner, _):
            [owner].compactMap(\.self)
        case .reserved(let question, _): question.accounts
        }
    }
}

extension UpdateQuestion {
    fileprivate var accounts: [Account] {
        switch self {
        case .unlink(let account, _, _, _), .removeMethod(let account, _, _, _),
            .restorePassword(let account, _, _, _, _):
            [account]
        case .resetPassword(let account, _), .verifyEmail(let account, _, _): [account].compactMap(\.self)
        case .updateByAdmin(let account, _, let emailOwner, let phoneOwner, let identityOwner):
            [account, emailOwner, phoneOwner, identityOwner].compactMap(\.self)
        }
    }
}

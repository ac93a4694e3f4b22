import AccountTestSupport

@testable import AccountLinking

/// Every account that the rules distinguish, as the odometer chooses.
extension Account {
    /// - `email`: the address, if any; the choice is its proof.
    /// - `identity`: an identity that the account has.
    /// - `provider`: a provider of which the account may have another subject.
    /// - `isCoarse`: all of password, link and phone or none, for decisions that do not distinguish them.
    static func choose(
        _ choices: inout Choices,
        id: String,
        email: EmailAddress?,
        holding identity: ProviderIdentity? = nil,
        otherSubjectOf provider: ProviderID? = nil,
        isCoarse: Bool = false,
        hasSecondFactor: Bool? = nil
    ) -> Account {
        var account = Account.fixture(id)
        if let email {
            account.email = AccountEmail(address: email, proof: choices.chooseBool() ? .emailCode : nil)
        }
        switch choices.choose(from: isCoarse ? [0, 3] : [0, 1, 2, 3]) {
        case 0: break
        case 1: account.hasPassword = true
        case 2: account.hasEmailLink = email != nil
        default:
            account.hasPassword = true
            account.hasEmailLink = email != nil
            account.phoneNumber = annsNumber
        }
        if choices.chooseBool() { account.linkedProviders[.facebook] = "facebook-of-\(id)" }
        if let provider, choices.chooseBool() { account.linkedProviders[provider] = "another-of-\(id)" }
        if let identity { account.linkedProviders[identity.provider] = identity.subject }
        account.isDisabled = choices.chooseBool()
        account.hasSecondFactor = hasSecondFactor ?? choices.chooseBool()
        return account
    }
}

/// Every point of an input space, once.
func everyPoint<Point>(_ choose: (inout Choices) -> Point) -> [Point] {
    var points: [Point] = []
    var choices = Choices()
    while choices.next() { points.append(choose(&choices)) }
    return points
}

/// An `oidc.*` provider with Google's issuer.
let workspace = provider("oidc.workspace")

/// The accounts that match a provider's credential.
struct MatchingAccounts {
    var identityOwner: Account?
    var emailOwner: Account?
}

/// A point in the input space of `SignInWithIdpQuestion`.
struct SignInWithIdpCase {
    var policy = LinkPolicy()
    var credential: IncomingCredential
    var accounts: MatchingAccounts
    var isProviderEnabled = true
    var createsUsers = true
    var asksFirst = false
    var proven: UserID?

    /// Every point that a database can contain: the owners have the identity and the address.
    static let all = everyPoint(choose)
    static let verdicts = all.map(\.verdict)

    static func choose(_ choices: inout Choices) -> SignInWithIdpCase {
        let credential = choices.choose(from: [IncomingCredential.trusted, .untrusted, .withoutEmail])
        let provider = credential.identity.provider
        let email = credential.email.address
        var accounts = MatchingAccounts(identityOwner: nil, emailOwner: nil)
        switch choices.choose(below: email == nil ? 2 : 5) {
        case 0: break
        case 1:
            accounts.identityOwner = .choose(
                &choices,
                id: "F",
                email: nil,
                holding: credential.identity,
                isCoarse: true
            )
        case 2:
            var owner = Account.choose(&choices, id: "M", email: email, otherSubjectOf: provider)
            // Apple's word counts for new addresses only.
            if owner.isEmailVerified, choices.chooseBool() { owner.email?.proof = .provider(.apple) }
            if owner.isEmailVerified, provider == .google, choices.chooseBool() {
                owner = owner.linking(workspace, "google-of-M", issuer: "https://accounts.google.com")
            }
            accounts.emailOwner = owner
        case 3:
            let owner = Account.choose(
                &choices,
                id: "F",
                email: email,
                holding: credential.identity,
                isCoarse: true
            )
            accounts = MatchingAccounts(identityOwner: owner, emailOwner: owner)
        default:
            accounts.identityOwner = .choose(
                &choices,
                id: "F",
                email: bob,
                holding: credential.identity,
                isCoarse: true
            )
            accounts.emailOwner = .fixture("M", email: email, password: true)
        }
        var point = SignInWithIdpCase(credential: credential, accounts: accounts)
        point.isProviderEnabled = choices.chooseBool()
        if !point.isProviderEnabled { return point }
        point.createsUsers = choices.chooseBool()
        point.policy.isOneAccountPerEmail = choices.chooseBool()
        point.policy.allowsClientSignUp = choices.chooseBool()
        if case .unverified = point.claim {
            point.policy.unprovenAddress = choices.choose(from: UnprovenAddress.allCases)
        }
        point.policy.requiresEnrolledSecondFactors = choices.chooseBool()
        if point.policy.requiresEnrolledSecondFactors {
            point.proven = choices.choose(from: [nil, (accounts.identityOwner ?? accounts.emailOwner)?.id])
        }
        if let linked = accounts.emailOwner?.linkedProviders, linked[provider] != nil || linked[workspace] != nil {
            point.policy.subjectChange = choices.choose(from: SubjectChange.allCases)
        }
        // Everywhere else it changes nothing, which a law states.
        if case .createUser = point.verdict.decision { point.asksFirst = choices.chooseBool() }
        return point
    }

    var verdict: Verdict<SignInDecision> {
        SignInWithIdpQuestion(
            identityOwner: accounts.identityOwner,
            emailOwner: accounts.emailOwner,
            credential: credential,
            isProviderEnabled: isProviderEnabled,
            createsUsers: createsUsers,
            asksFirst: asksFirst,
            secondFactorProvenBy: proven
        ).decide(policy)
    }

    var claim: EmailClaim { policy.emailClaim(of: credential, isAddressTaken: accounts.emailOwner != nil) }
}

/// A point in the input space of `LinkWithIdpQuestion`.
struct LinkWithIdpCase {
    var policy = LinkPolicy()
    var target: Account
    var credential: IncomingCredential
    var accounts: MatchingAccounts
    var isProviderEnabled = true
    var proven: UserID?
    var isSessionRecent = true
    var settlesConflict = false

    static let all = everyPoint(choose)
    static let verdicts = all.map(\.verdict)

    static func choose(_ choices: inout Choices) -> LinkWithIdpCase {
        let credential = choices.choose(from: [IncomingCredential.trusted, .untrusted, .withoutEmail])
        let provider = credential.identity.provider
        let email = credential.email.address
        let targetEmail = choices.choose(from: [nil, bob] + (email.map { [$0] } ?? []))
        let isOwnIdentity = choices.chooseBool()
        var target = Account.choose(
            &choices,
            id: "T",
            email: targetEmail,
            holding: isOwnIdentity ? credential.identity : nil,
            otherSubjectOf: isOwnIdentity ? nil : provider,
            isCoarse: true
        )
        if targetEmail == nil { target.hasInitialEmail = choices.chooseBool() }
        var accounts = MatchingAccounts(identityOwner: isOwnIdentity ? target : nil, emailOwner: nil)
        if !isOwnIdentity, choices.chooseBool() {
            accounts.identityOwner = .fixture("F", providers: [provider: credential.identity.subject])
        }
        if let email {
            if targetEmail == email {
                accounts.emailOwner = target
            } else if choices.chooseBool() {
                accounts.emailOwner = .fixture("M", email: email)
            }
        }
        var point = LinkWithIdpCase(target: target, credential: credential, accounts: accounts)
        point.isProviderEnabled = choices.chooseBool()
        if !point.isProviderEnabled { return point }
        point.policy.isOneAccountPerEmail = choices.chooseBool()
        if case .unverified = point.claim {
            point.policy.unprovenAddress = choices.choose(from: UnprovenAddress.allCases)
        }
        point.policy.requiresEnrolledSecondFactors = choices.chooseBool()
        if point.policy.requiresEnrolledSecondFactors { point.proven = choices.choose(from: [nil, target.id]) }
        point.isSessionRecent = choices.chooseBool()
        point.policy.linkingNeedsRecentSignIn = choices.chooseBool()
        if !isOwnIdentity, target.linkedProviders[provider] != nil {
            point.settlesConflict = choices.chooseBool()
            point.policy.subjectChange = choices.choose(from: [.conflict, .replace])
        }
        return point
    }

    var verdict: Verdict<SignInDecision> {
        LinkWithIdpQuestion(
            target: target,
            identityOwner: accounts.identityOwner,
            emailOwner: accounts.emailOwner,
            credential: credential,
            isProviderEnabled: isProviderEnabled,
            secondFactorProvenBy: proven,
            isSessionRecent: isSessionRecent,
            settlesConflict: settlesConflict
        ).decide(policy)
    }

    var claim: EmailClaim { policy.emailClaim(of: credential, isAddressTaken: accounts.emailOwner != nil) }

    /// The project confirms the credential's address, so its owner decides nothing.
    var ignoresAddress: Bool {
        if case .unverified = claim { policy.confirmsUnprovenAddresses } else { false }
    }
}

/// A point in the input space of `SignInWithEmailLinkQuestion`.
struct EmailLinkCase {
    var policy = LinkPolicy()
    var owner: Account?
    var target: Account?
    var isSessionRecent = true
    var proven: UserID?

    static let all = everyPoint(choose)
    static let verdicts = all.map(\.verdict)

    static func choose(_ choices: inout Choices) -> EmailLinkCase {
        var point = EmailLinkCase()
        switch choices.choose(below: 6) {
        case 0: break
        case 1:
            point.owner = .choose(&choices, id: "O", email: ann)
            if point.owner?.isEmailVerified == true, choices.chooseBool() {
                point.owner?.email?.proof = .provider(.apple)
            }
        case 2: point.target = .choose(&choices, id: "T", email: nil)
        case 3: point.target = .choose(&choices, id: "T", email: bob)
        case 4:
            point.target = .choose(&choices, id: "T", email: ann)
            point.owner = point.target
        default:
            point.target = .choose(&choices, id: "T", email: bob)
            point.owner = .fixture("O", email: ann, disabled: choices.chooseBool())
        }
        point.target?.hasInitialEmail = choices.chooseBool()
        point.isSessionRecent = choices.chooseBool()
        point.policy.allowsEmailLinkSignIn = choices.chooseBool()
        if !point.policy.allowsEmailLinkSignIn { return point }
        if point.target != nil { point.policy.linkingNeedsRecentSignIn = choices.chooseBool() }
        point.policy.allowsClientSignUp = choices.chooseBool()
        point.policy.requiresEnrolledSecondFactors = choices.chooseBool()
        if point.policy.requiresEnrolledSecondFactors {
            point.proven = choices.choose(from: [nil, (point.target ?? point.owner)?.id])
        }
        return point
    }

    var verdict: Verdict<SignInDecision> {
        SignInWithEmailLinkQuestion(
            email: ann,
            owner: owner,
            target: target,
            isSessionRecent: isSessionRecent,
            secondFactorProvenBy: proven
        ).decide(policy)
    }
}

/// A point in the input space of `SignInWithPhoneQuestion`.
struct PhoneCase {
    var policy = LinkPolicy()
    var owner: Account?
    var target: Account?
    var operation = PhoneOperation.unspecified
    var proof = PhoneProof.code
    var isSessionRecent = true

    static let all = everyPoint(choose)
    static let verdicts = all.map(\.verdict)

    static func choose(_ choices: inout Choices) -> PhoneCase {
        var point = PhoneCase()
        /// An account with or without the number.
        func account(_ id: String, hasNumber: Bool) -> Account {
            let email = choices.choose(from: [nil, bob])
            var account = Account.choose(&choices, id: id, email: email, isCoarse: true)
            account.phoneNumber = hasNumber ? annsNumber : choices.choose(from: [nil, number("+16505551111")])
            return account
        }
        switch choices.choose(below: 5) {
        case 0: break
        case 1: point.owner = account("N", hasNumber: true)
        case 2: point.target = account("T", hasNumber: false)
        case 3:
            point.target = account("T", hasNumber: true)
            point.owner = point.target
        default:
            point.target = account("T", hasNumber: false)
            point.owner = .fixture("N", phone: true, disabled: choices.chooseBool(), secondFactor: choices.chooseBool())
        }
        point.policy.allowsPhoneSignIn = choices.chooseBool()
        if !point.policy.allowsPhoneSignIn { return point }
        point.policy.allowsClientSignUp = choices.chooseBool()
        point.operation = choices.choose(from: PhoneOperation.allCases)
        point.proof = choices.choose(from: PhoneProof.allCases)
        if point.target != nil {
            point.isSessionRecent = choices.chooseBool()
            point.policy.linkingNeedsRecentSignIn = choices.chooseBool()
        }
        return point
    }

    var verdict: Verdict<SignInDecision> {
        SignInWithPhoneQuestion(
            number: annsNumber,
            owner: owner,
            target: target,
            operation: operation,
            proof: proof,
            isSessionRecent: isSessionRecent
        ).decide(policy)
    }
}

/// The three questions of a sign-up.
enum SignUpRequest {
    case anonymous
    case password(EmailAddress)
    case linkPassword(EmailAddress, to: Account, isSessionRecent: Bool)

    func decide(_ policy: LinkPolicy, emailOwner: Account?, displayName: String? = nil) -> Verdict<SignInDecision> {
        switch self {
        case .anonymous: SignUpAnonymouslyQuestion(displayName: displayName).decide(policy)
        case .password(let email):
            SignUpQuestion(email: email, emailOwner: emailOwner, displayName: displayName).decide(policy)
        case .linkPassword(let email, let target, let isSessionRecent):
            LinkPasswordQuestion(
                email: email,
                target: target,
                isSessionRecent: isSessionRecent,
                emailOwner: emailOwner,
                displayName: displayName
            ).decide(policy)
        }
    }
}

/// A point in the input space of sign-ups.
struct SignUpCase {
    var policy = LinkPolicy()
    var request: SignUpRequest
    var owner: Account?

    static let all = everyPoint(choose)
    static let verdicts = all.map(\.verdict)

    static func choose(_ choices: inout Choices) -> SignUpCase {
        var point: SignUpCase
        switch choices.choose(below: 5) {
        case 0: point = SignUpCase(request: .anonymous)
        case 1: point = SignUpCase(request: .password(ann))
        case 2:
            point = SignUpCase(request: .password(ann))
            point.owner = .choose(&choices, id: "O", email: ann, hasSecondFactor: false)
        case 3:
            let target = Account.choose(&choices, id: "T", email: ann, hasSecondFactor: false)
            point = SignUpCase(request: .linkPassword(ann, to: target, isSessionRecent: choices.chooseBool()))
            point.owner = target
        default:
            var target = Account.choose(
                &choices,
                id: "T",
                email: choices.choose(from: [nil, bob]),
                isCoarse: true,
                hasSecondFactor: false
            )
            target.hasInitialEmail = choices.chooseBool()
            target.hasSecondFactor = choices.chooseBool()
            point = SignUpCase(request: .linkPassword(ann, to: target, isSessionRecent: choices.chooseBool()))
            point.policy.secondFactorsNeedProvenAddress = choices.chooseBool()
            if choices.chooseBool() { point.owner = .fixture("O", email: ann) }
        }
        point.policy.isOneAccountPerEmail = choices.chooseBool()
        point.policy.allowsPasswordSignIn = choices.chooseBool()
        point.policy.allowsAnonymousSignUp = choices.chooseBool()
        point.policy.signUpRequiresMailbox = choices.chooseBool()
        point.policy.allowsClientSignUp = choices.chooseBool()
        point.policy.protectsEmailEnumeration = choices.chooseBool()
        return point
    }

    var verdict: Verdict<SignInDecision> {
        request.decide(policy, emailOwner: owner)
    }
}

/// A point in the input space of `SignInWithPasswordQuestion`.
struct PasswordCase {
    var policy = LinkPolicy()
    var owner: Account?
    var isLocked = false
    var passwordMatches: Bool
    var proven: UserID?

    static let all = everyPoint(choose)
    static let verdicts = all.map(\.verdict)

    static func choose(_ choices: inout Choices) -> PasswordCase {
        var point = PasswordCase(passwordMatches: choices.chooseBool())
        point.isLocked = choices.chooseBool()
        if choices.chooseBool() { point.owner = .choose(&choices, id: "O", email: ann) }
        point.policy.allowsPasswordSignIn = choices.chooseBool()
        point.policy.protectsEmailEnumeration = choices.chooseBool()
        point.policy.showsDisabledAccounts = choices.chooseBool()
        point.policy.requiresEnrolledSecondFactors = choices.chooseBool()
        if point.policy.requiresEnrolledSecondFactors { point.proven = choices.choose(from: [nil, point.owner?.id]) }
        return point
    }

    var question: SignInWithPasswordQuestion {
        SignInWithPasswordQuestion(
            owner: owner,
            isLocked: isLocked,
            passwordMatches: passwordMatches,
            secondFactorProvenBy: proven
        )
    }

    var verdict: Verdict<SignInDecision> { question.decide(policy) }
}

/// A point in the input space of decisions that change one account without a sign-in.
struct UpdateCase {
    enum Kind: String, CaseIterable {
        case resetPassword = "reset password"
        case changeEmail = "change e-mail"
        case applyEmailCode = "apply e-mail code"
        case verifyEmail = "verify e-mail"
        case changePassword = "change password"
        case unlink
        case removeMethod = "remove a method"
        case restorePassword = "restore a password"
        case updateByAdmin = "update by administrator"
    }

    var kind: Kind
    var account: Account?
    var verdict: Verdict<UpdateDecision>

    static let all = everyPoint(choose)

    static func choose(_ choices: inout Choices) -> UpdateCase {
        var policy = LinkPolicy()
        let kind = choices.choose(from: Kind.allCases)
        let email = choices.choose(from: [nil, ann, bob])
        var account = Account.choose(&choices, id: "A", email: email, hasSecondFactor: false)
        /// The owner of the requested address.
        func owner() -> Account? {
            email == ann ? account : choices.choose(from: [nil, Account.fixture("O", email: ann)])
        }
        let verdict: Verdict<UpdateDecision>
        switch kind {
        case .resetPassword:
            policy.passwordResetUnlinksProviders = choices.chooseBool()
            policy.allowsPasswordSignIn = choices.chooseBool()
            verdict = ResetPasswordQuestion(account: account, address: ann).decide(policy)
        case .changeEmail:
            policy.protectsEmailEnumeration = choices.chooseBool()
            policy.isOneAccountPerEmail = choices.chooseBool()
            account.hasInitialEmail = choices.chooseBool()
            account.hasSecondFactor = choices.chooseBool()
            policy.secondFactorsNeedProvenAddress = choices.chooseBool()
            verdict = decideChangeEmail(
                policy: policy,
                account: account,
                newAddress: ann,
                owner: owner(),
                isSessionRecent: choices.chooseBool()
            )
        case .applyEmailCode:
            account.hasInitialEmail = choices.chooseBool()
            account.hasSecondFactor = choices.chooseBool()
            policy.requiresEnrolledSecondFactors = choices.chooseBool()
            let additions = AccountAdditions(
                methods: Set(account.signInMethods + (account.hasPassword ? [.password] : []))
                    .intersection([.password, .provider(.facebook)]),
                olderSecondFactors: account.hasSecondFactor ? [] : nil
            )
            let code = choices.choose(from: [
                EmailCodeChange.recover(initial: ann, ownerCameLater: false, since: nil),
                .recover(initial: ann, ownerCameLater: false, since: AccountAdditions()),
                .recover(initial: ann, ownerCameLater: false, since: additions),
                .recover(initial: ann, ownerCameLater: true, since: nil),
                .recover(initial: ann, ownerCameLater: true, since: additions),
                .verifyAndChange(to: ann, sentFor: email, sessionEpoch: account.sessionEpoch),
                .verifyAndChange(to: ann, sentFor: email, sessionEpoch: account.sessionEpoch - 1),
                .verifyAndChange(to: ann, sentFor: address("old@example.com"), sessionEpoch: account.sessionEpoch),
            ])
            let owner =
                email == ann
                ? account
                : choices.choose(from: [
                    nil, Account.fixture("O", email: ann), .fixture("O", email: ann, proof: .emailCode),
                ])
            var reservation: AddressReservation?
            if owner == nil {
                reservation = choices.choose(from: [
                    nil, AddressReservation(address: ann, account: account.id, wasProven: true),
                    AddressReservation(address: ann, account: user("R"), wasProven: true),
                    AddressReservation(address: ann, account: user("R"), wasProven: false),
                ])
            }
            verdict = decideApplyEmailCode(policy: policy, account: account, code: code, owner: owner)
                .respecting(reservation)
        case .verifyEmail:
            policy.firstProofEndsSessions = choices.chooseBool()
            policy.requiresEnrolledSecondFactors = choices.chooseBool()
            account.hasSecondFactor = choices.chooseBool()
            verdict = VerifyEmailQuestion(
                account: account,
                address: ann,
                answer: choices.choose(from: ProvingSession.allCases.map(VerifyEmailAnswer.confirm) + [.disown])
            ).decide(policy)
        case .changePassword:
            policy.allowsPasswordSignIn = choices.chooseBool()
            verdict = decideChangePassword(policy: policy, account: account, isSessionRecent: choices.chooseBool())
        case .unlink:
            policy.keepsLastSignInMethod = choices.chooseBool()
            policy.linkingNeedsRecentSignIn = choices.chooseBool()
            verdict = UnlinkQuestion(
                account: account,
                enabledProviders: choices.choose(from: [[], [.facebook]]),
                removal: choices.choose(from: [
                    Removal(), Removal(providers: [.password]), Removal(providers: [.phone]),
                    Removal(providers: [.facebook]), Removal(providers: [.password, .phone, .facebook]),
                    Removal(email: true), Removal(password: true),
                ]),
                request: .client(isSessionRecent: choices.chooseBool())
            ).decide(policy)
        case .removeMethod:
            verdict = RemoveMethodQuestion(
                account: account,
                enabledProviders: choices.choose(from: [[], [.facebook]]),
                method: choices.choose(from: [.password, .emailLink, .phone, .provider(.facebook)]),
                isSessionRecent: choices.chooseBool()
            ).decide(policy)
        case .restorePassword:
            policy.allowsPasswordSignIn = choices.chooseBool()
            verdict = RestorePasswordQuestion(
                account: account,
                isQuarantined: choices.chooseBool(),
                isSessionRecent: choices.chooseBool(),
                isLocked: choices.chooseBool(),
                passwordMatches: choices.chooseBool()
            ).decide(policy)
        case .updateByAdmin:
            let update = choices.choose(from: [
                AdminUpdate(), AdminUpdate(email: ann), AdminUpdate(email: ann, isEmailVerified: true),
                AdminUpdate(isEmailVerified: true), AdminUpdate(isEmailVerified: false),
                AdminUpdate(setsPassword: true), AdminUpdate(phoneNumber: annsNumber),
                AdminUpdate(isDisabled: true), AdminUpdate(isDisabled: false),
                AdminUpdate(identity: identity(.facebook, "new")), AdminUpdate(revokesSessions: true),
            ])
            verdict = UpdateByAdminQuestion(
                account: account,
                update: update,
                emailOwner: update.email == nil ? nil : owner(),
                phoneOwner: nil,
                identityOwner: nil
            ).decide(LinkPolicy())
        }
        return UpdateCase(kind: kind, account: account, verdict: verdict)
    }
}

import AccountLinking
import Testing

/// The values of the tests. Addresses, identifiers and subjects are opaque to the rules, so one of each class is
/// enough.
func user(_ name: String) -> UserID {
    guard let id = UserID(name) else { preconditionFailure("not a user id") }
    return id
}

func address(_ raw: String) -> EmailAddress {
    guard let address = EmailAddress(raw) else { preconditionFailure("not an address") }
    return address
}

func number(_ raw: String) -> PhoneNumber {
    guard let number = PhoneNumber(raw) else { preconditionFailure("not a number") }
    return number
}

func identity(_ provider: ProviderID, _ subject: String) -> ProviderIdentity {
    guard let identity = ProviderIdentity(provider: provider, subject: subject) else {
        preconditionFailure("not an identity")
    }
    return identity
}

func provider(_ name: String) -> ProviderID {
    guard let provider = ProviderID(name) else { preconditionFailure("not a provider") }
    return provider
}

let ann = address("ann@gmail.com")
let bob = address("bob@example.com")
let annsNumber = number("+16505553434")
let annsProfile = Profile(displayName: "Ann", photoURL: "https://example.com/ann.png")

extension Account {
    /// An account of which a test states only the relevant facts.
    static func fixture(
        _ id: String,
        epoch: Int64 = 7,
        email: EmailAddress? = nil,
        proof: EmailProof? = nil,
        password: Bool = false,
        emailLink: Bool = false,
        phone: Bool = false,
        providers: LinkedSubjects = [:],
        disabled: Bool = false,
        secondFactor: Bool = false,
        initialEmail: Bool = false,
        customTokens: Bool = false
    ) -> Account {
        Account(
            id: user(id),
            version: 1,
            sessionEpoch: epoch,
            isDisabled: disabled,
            email: email.map { AccountEmail(address: $0, proof: proof) },
            hasInitialEmail: initialEmail,
            hasPassword: password,
            hasEmailLink: emailLink,
            phoneNumber: phone ? annsNumber : nil,
            linkedProviders: providers,
            hasSecondFactor: secondFactor,
            usesCustomTokens: customTokens
        )
    }
}

extension Account {
    /// The account with one more linked provider, with the issuer that linked it, as its row is stored.
    func linking(_ provider: ProviderID, _ subject: String, issuer: String?) -> Account {
        var account = self
        let linked = linkedProviders.map { (identity: identity($0.key, $0.value), issuer: String?.none) }
        account.linkedProviders = LinkedSubjects(linked + [(identity(provider, subject), issuer)])
        return account
    }
}

func incoming(
    _ provider: ProviderID,
    _ subject: String,
    _ email: EmailAddress?,
    flagged: Bool? = nil,
    hostedDomain: String? = nil,
    issuer: String? = nil
) -> IncomingCredential {
    IncomingCredential(
        identity: identity(provider, subject),
        issuer: issuer,
        email: email.map { .present($0, flag: VerifiedFlag(flagged), hostedDomain: hostedDomain) } ?? .absent,
        profile: annsProfile
    )
}

extension IncomingCredential {
    /// Google's word for a gmail.com address: trusted.
    static let trusted = incoming(.google, "google-ann", ann, flagged: true)
    /// GitHub's word for the same address: never trusted.
    static let untrusted = incoming(.gitHub, "github-ann", ann, flagged: true)
    static let withoutEmail = incoming(.facebook, "facebook-ann", nil)
}

extension LinkPolicy {
    static func policy(_ change: (inout LinkPolicy) -> Void = { _ in }) -> LinkPolicy {
        var policy = LinkPolicy()
        change(&policy)
        return policy
    }

    static let duplicates = policy { $0.isOneAccountPerEmail = false }
    static let secondFactors = policy { $0.requiresEnrolledSecondFactors = true }
    static let enumerable = policy { $0.protectsEmailEnumeration = false }

    /// The values of the preset `firebase`.
    static let firebase = policy {
        $0.preset = .firebase
        $0.emailTrust = .compatible
        $0.subjectChange = .replace
        $0.linkingNeedsRecentSignIn = false
        $0.secondFactorsNeedProvenAddress = false
        $0.firstProofEndsSessions = false
        $0.showsDisabledAccounts = true
    }
}

extension AccountChange {
    /// The change that does only what `build` sets.
    static func only(_ build: (inout AccountChange) -> Void) -> AccountChange {
        var change = AccountChange()
        build(&change)
        return change
    }

    static let nothing = AccountChange()
}

// Short names in the test report.
extension IncomingCredential: CustomTestStringConvertible {
    package var testDescription: String { identity.provider.rawValue }
}

extension Account: CustomTestStringConvertible {
    package var testDescription: String { id.rawValue }
}

extension SecondFactor {
    static func app(_ name: String) -> SecondFactor { factor(name, .totp) }

    static func number(_ name: String, _ number: PhoneNumber = annsNumber) -> SecondFactor {
        factor(name, .phone(number))
    }

    private static func factor(_ name: String, _ method: Method) -> SecondFactor {
        guard let id = SecondFactorID(name) else { preconditionFailure("not an enrolment's id") }
        return SecondFactor(
            id: id,
            method: method,
            displayName: nil,
            enrolledAt: Timestamp(secondsSinceEpoch: 1)
        )
    }
}

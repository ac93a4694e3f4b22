import AccountLinking
import JSON

/// `passwordPolicyConfig`, in addition to `WeakPassword`.
package struct PasswordPolicy: Sendable, Hashable {
    /// If false, clients only display the policy.
    package var isEnforced = false
    /// The policy applies to sign-ins too (`forceUpgradeOnSignin`).
    package var appliesAtSignIn = false
    /// Characters, if the policy is enforced.
    package var lengthMin = WeakPassword.lengthMin
    /// Characters of every new password, unless an enforced policy has another number.
    package var unenforcedLengthMin = WeakPassword.lengthMin
    /// Characters that clients display, never fewer than required.
    package var shownLengthMin: Int { isEnforced ? lengthMin : max(lengthMin, unenforcedLengthMin) }
    /// Refuses passwords that attackers try first.
    package var refusesCommon = false
    /// Characters.
    package var lengthMax = WeakPassword.lengthMax
    package var needsLowercase = false
    package var needsUppercase = false
    package var needsDigit = false
    package var needsSymbol = false

    package static let symbols = Array("^$*.[]{}()?\"!@#%&/\\,><':;|_~")

    /// A missing requirement, in words for the user.
    package enum Requirement: Sendable, Hashable {
        case atLeast(characters: Int)
        case atMost(characters: Int)
        case lowercase
        case uppercase
        case digit
        case symbol

        package var text: String {
            switch self {
            case .atLeast(let characters): "Password must contain at least \(characters) characters"
            case .atMost(let characters): "Password may contain at most \(characters) characters"
            case .lowercase: "Password must contain a lower case character"
            case .uppercase: "Password must contain an upper case character"
            case .digit: "Password must contain a numeric character"
            case .symbol: "Password must contain a non-alphanumeric character"
            }
        }
    }

    package init() {}

    /// `lengthMin` is the project's, used if the policy has none.
    init(stored: JSONValue?, lengthMin: Int64? = nil, refusesCommon: Bool = false) {
        self.refusesCommon = refusesCommon
        if let lengthMin { unenforcedLengthMin = Int(lengthMin) }
        self.lengthMin = unenforcedLengthMin
        isEnforced = stored?["passwordPolicyEnforcementState"]?.string == "ENFORCE"
        appliesAtSignIn = isEnforced && stored?["forceUpgradeOnSignin"]?.bool == true
        let options = stored?["passwordPolicyVersions"]?.array?.first?["customStrengthOptions"]
        if let length = options?["minPasswordLength"]?.integer { self.lengthMin = Int(length) }
        if let length = options?["maxPasswordLength"]?.integer { lengthMax = Int(length) }
        needsLowercase = options?["containsLowercaseCharacter"]?.bool ?? false
        needsUppercase = options?["containsUppercaseCharacter"]?.bool ?? false
        needsDigit = options?["containsNumericCharacter"]?.bool ?? false
        needsSymbol = options?["containsNonAlphanumericCharacter"]?.bool ?? false
    }

    /// The unmet requirements, whether or not the policy is enforced.
    package func missing(in password: String) -> [Requirement] {
        var missing: [Requirement] = []
        if password.count < lengthMin { missing.append(.atLeast(characters: lengthMin)) }
        if password.count > lengthMax { missing.append(.atMost(characters: lengthMax)) }
        if needsLowercase, !password.contains(where: \.isLowercase) { missing.append(.lowercase) }
        if needsUppercase, !password.contains(where: \.isUppercase) { missing.append(.uppercase) }
        if needsDigit, !password.contains(where: { ("0"..."9").contains($0) }) { missing.append(.digit) }
        if needsSymbol, !password.contains(where: Self.symbols.contains) { missing.append(.symbol) }
        return missing
    }
}

extension AccountOperations {
    /// The reason why `password` must not be set for an account with `email`; `nil` if it may.
    ///
    /// Applies to administrators too, as in Firebase, but not to existing passwords and imported hashes.
    func objection(toNew password: String, for email: EmailAddress?) -> Denial? {
        let policy = project.settings.passwordPolicy
        // An enforced policy has its own words for missing requirements.
        if policy.isEnforced, let denial = policyObjection(to: password) { return denial }
        if WeakPassword.isTooLong(password) { return .passwordTooLong }
        let lengthMin = policy.isEnforced ? WeakPassword.lengthMin : policy.unenforcedLengthMin
        if password.count < lengthMin { return .weakPassword(lengthMin: lengthMin) }
        return policy.refusesCommon && isGuessedFirst(password, for: email) ? .commonPassword : nil
    }

    /// True for a common password, the address, its local part, and the app's name or id, ignoring case.
    private func isGuessedFirst(_ password: String, for email: EmailAddress?) -> Bool {
        let password = password.lowercased()
        let settings = project.settings
        let localPart = email.map { $0.lowercased.dropLast($0.domain.count + 1) }
        let words = [email?.lowercased, localPart.map(String.init), settings.displayName, settings.projectID]
        return CommonPasswords.contains(password) || words.contains { $0?.lowercased() == password }
    }

    /// The reason why a correct password does not sign in; `nil` if it does.
    func objection(toSignInWith password: String) -> Denial? {
        project.settings.passwordPolicy.appliesAtSignIn ? policyObjection(to: password) : nil
    }

    private func policyObjection(to password: String) -> Denial? {
        let missing = project.settings.passwordPolicy.missing(in: password)
        return missing.isEmpty ? nil : .passwordPolicy(missing: missing)
    }
}

/// What the operator allows, as one value: loaded with the project's configuration, read by every decision.
package struct LinkPolicy: Sendable, Hashable {
    /// Of the project's configuration, which holds the policy: raised by every change of it.
    package var version: Int64 = 0
    /// `signIn.allowDuplicateEmails = false`: an address identifies one account, so conflicts are possible.
    package var isOneAccountPerEmail = true
    /// `emailPrivacyConfig.enableImprovedEmailPrivacy`: strangers learn nothing about who has an account.
    package var protectsEmailEnumeration = true
    package var allowsPasswordSignIn = true
    package var allowsEmailLinkSignIn = true
    /// `signIn.phoneNumber.enabled`.
    package var allowsPhoneSignIn = true
    package var allowsAnonymousSignUp = true
    /// `client.permissions.disabledUserSignup` negated.
    package var allowsClientSignUp = true
    /// `client.permissions.disabledUserDeletion` negated.
    package var allowsClientDeletion = true
    /// Whether enrolled second factors are asked for (`mfa.state`).
    package var requiresEnrolledSecondFactors = false
    /// What users can enrol now. What they have enrolled before is asked for all the same.
    package var enrollableSecondFactors: Set<SecondFactorKind> = []
    /// `passwordReset.unlinksProviders` (rule R2).
    package var passwordResetUnlinksProviders = true
    /// Refuses to unlink the last method that works on the compatible routes (production allows it).
    /// Concord's own routes always refuse it.
    package var keepsLastSignInMethod = false
    /// The greatest age of a sign-in that a sensitive operation accepts, in seconds; 0 means "always reauthenticate".
    package var recentSignInSeconds: Int64 = 300
    /// Preset that the project follows where it does not set a value itself.
    package var preset = LinkPolicyPreset.strict
    /// Answer to a provider that names a different subject for an address whose account is linked to that provider.
    package var subjectChange = SubjectChange.conflict
    /// Requires a recent sign-in to link a provider, to attach or replace a number, and to unlink a working method.
    package var linkingNeedsRecentSignIn = true
    /// Refuses an unproven address for an account that has second factors.
    package var secondFactorsNeedProvenAddress = true
    /// Ends the sessions of an account when its address is proven for the first time by a mailed code that does not come from
    /// the session that asked for it.
    package var firstProofEndsSessions = true
    /// Pages that codes and sessions go to are `https` on the default port, or on the one that the project names with
    /// the host. `false`: `http` and any port as well, as production has it.
    package var requiresHTTPSContinueURLs = true
    /// Concord's own pages take hosts below an authorized domain for authorized, as production's do. `false`: only where
    /// the project lists `*.` before it.
    package var authorizesSubdomains = false
    /// Counts a sign-in with a provider from the provider's own sign-in (`auth_time`, at most `iat`), and accepts an ID
    /// token once for a reauthentication.
    package var countsProviderAuthTime = true
    package var emailTrust = EmailTrust.declared
    /// Issuer of each registered `oidc.*` provider. It stands for the issuer of a linked identity that came without one: by an
    /// import, by an administrator, or unlinked since.
    package var registeredIssuers: [ProviderID: String] = [:]
    /// What conflicts may be settled by, pair by pair; empty where every proof will do.
    package var conflictProofRules: [ConflictProofRule] = []

    package init() {}
}

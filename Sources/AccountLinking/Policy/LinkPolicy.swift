/// The operator's rules, loaded with the project's configuration and read by every decision.
package struct LinkPolicy: Sendable, Hashable {
    /// Version of the project's configuration, which contains the policy. Every change of the configuration raises it,
    /// except those that change only how pages and messages look.
    package var version: Int64 = 0
    /// `signIn.allowDuplicateEmails = false`: an address identifies one account, so conflicts are possible.
    package var isOneAccountPerEmail = true
    /// `emailPrivacyConfig.enableImprovedEmailPrivacy`: anonymous callers cannot find out which addresses have
    /// accounts.
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
    /// True if sign-ins require enrolled second factors (`mfa.state`).
    package var requiresEnrolledSecondFactors = false
    /// Kinds of factors that users can enroll now. Existing factors of other kinds are still required.
    package var enrollableSecondFactors: Set<SecondFactorKind> = []
    /// `passwordReset.unlinksProviders` (rule R2).
    package var passwordResetUnlinksProviders = true
    /// Refuses to unlink the last working method on the compatible routes (production allows it). Concord's own routes
    /// always refuse it.
    package var keepsLastSignInMethod = false
    /// Maximum age of a sign-in that a sensitive operation accepts, in seconds; 0 means "always reauthenticate".
    package var recentSignInSeconds: Int64 = 300
    /// Preset that supplies the values which the project does not set.
    package var preset = LinkPolicyPreset.strict
    /// Answer to a provider that names a different subject for an address whose account is linked to that provider.
    package var subjectChange = SubjectChange.conflict
    /// Requires a recent sign-in to link a provider, to attach or replace a number, and to unlink a working method.
    package var linkingNeedsRecentSignIn = true
    /// Refuses an unproven address for an account that has second factors.
    package var secondFactorsNeedProvenAddress = true
    /// Ends the account's sessions when a mailed code proves its address for the first time, unless the session that
    /// requested the code returns it.
    package var firstProofEndsSessions = true
    /// Sends codes and sessions only to `https` pages, on the default port or the port of the `authorizedDomains`
    /// entry. `false`: `http` and any port as well, as in production.
    package var requiresHTTPSContinueURLs = true
    /// Lets Concord's own pages treat hosts below an authorized domain as authorized, as production does. `false`: only
    /// below an entry with `*.`.
    package var authorizesSubdomains = false
    /// Counts a sign-in with a provider from the provider's own sign-in (`auth_time`, at most `iat`), and accepts an ID
    /// token once for a reauthentication.
    package var countsProviderAuthTime = true
    /// Requires proof of the mailbox before a client creates an account with a password, or adds one with a new address.
    package var signUpRequiresMailbox = false
    /// Answer to a provider that names an unproven address for an identity without an account.
    package var unprovenAddress = UnprovenAddress.link
    /// Says that an account is disabled only to a caller who knows its password, if addresses are protected. `false`: to
    /// everyone, as in production.
    package var showsDisabledAccounts = false
    package var emailTrust = EmailTrust.declared
    /// Issuer of each registered `oidc.*` provider. Used for linked identities without an issuer: imported, set by an
    /// administrator, or unlinked since.
    package var registeredIssuers: [ProviderID: String] = [:]
    /// Rules for the proofs that settle a conflict; if empty, every proof does.
    package var conflictProofRules: [ConflictProofRule] = []

    package init() {}

    /// Returns true if a wrong password for a disabled account is refused like one for any other address.
    package var hidesDisabledAccounts: Bool { protectsEmailEnumeration && !showsDisabledAccounts }
}

/// A row of the decision tables: the answer to "why was it decided so?".
///
/// The name is what people read, in code and in reports. The raw value is the code that is stored, and that
/// `Concord-Decision` carries: it is stable, is never reused, and is not an order. The cases stand in the order of
/// docs/reference/decisions.md, which is generated from them: within a table the first rule that matches wins.
package enum Rule: String, Sendable, Hashable, CaseIterable {
    // Sign-in with a provider (`SignInWithIdpQuestion`).
    case signInProviderNotEnabled = "I0"
    case identityOwnerDisabled = "I1"
    case identityOwnerNeedsSecondFactor = "I3"
    case signInByIdentity = "I2"
    case reauthenticationByUntrustedEmail = "I12"
    case reauthenticationOfUnknownIdentity = "I6"
    case untrustedEmailConflict = "I11"
    case emailOwnerDisabled = "I10"
    case emailOwnerNeedsSecondFactor = "I13"
    case takeoverByProvider = "I9"
    case takeoverFromFormerHolder = "I21"
    case subjectDiffers = "I16"
    case takeoverBySubject = "I17"
    case subjectMoved = "I18"
    case subjectReplaced = "I8"
    case linkByProvenEmail = "I7"
    case providerSignUpNotAllowed = "I14"
    case signUpWithoutEmail = "I4"
    case signUpWithDuplicateEmail = "I15"
    case signUpWithEmail = "I5"

    // Linking a provider (`LinkWithIdpQuestion`).
    case linkProviderNotEnabled = "L9"
    case linkAccountDisabled = "L0"
    case linkNeedsRecentSignIn = "L10"
    case linkIdentityAlreadyLinked = "L2"
    case linkIdentityInUse = "L1"
    case linkEmailInUse = "L3"
    case linkOfSecondSubject = "L8"
    case subjectReplacedByOwner = "L11"
    case linkNeedsSecondFactor = "L6"
    case anonymousUpgradedByProvider = "L7"
    case providerLinked = "L4"
    case providerLinkedDuplicateEmails = "L5"

    // E-mail link (`SignInWithEmailLinkQuestion`).
    case emailLinkNotEnabled = "M0"
    case emailLinkAccountDisabled = "M4"
    case mailedLinkNeedsRecentSignIn = "M11"
    case emailLinkAddressInUse = "M7"
    case emailLinkNeedsSecondFactor = "M5"
    case anonymousUpgradedByEmailLink = "M8"
    case emailLinkReplacementNeedsRecentSignIn = "M10"
    case emailSetByEmailLink = "M6"
    case mailedLinkFromFormerHolder = "M12"
    case signInByEmailLink = "M2"
    case takeoverByEmailLink = "M3"
    case emailLinkSignUpNotAllowed = "M9"
    case signUpByEmailLink = "M1"

    // Telephone number (`SignInWithPhoneQuestion`, `decideSendPhoneCode`).
    case phoneNotEnabled = "N0"
    case phoneAccountDisabled = "N4"
    case reauthenticationOfUnknownNumber = "N2"
    case numberNeedsRecentSignIn = "N16"
    case phoneInUse = "N8"
    case phoneInUseTemporaryProof = "N9"
    case phoneRefusedWithSecondFactor = "N5"
    case phoneAlreadyLinked = "N7"
    case anonymousUpgradedByPhone = "N13"
    case phoneLinked = "N6"
    case signInByPhoneCode = "N3"
    case signInByTemporaryProof = "N10"
    case phoneSignUpNotAllowed = "N12"
    case signUpByPhone = "N1"
    case phoneRegionNotAllowed = "N14"
    case phoneCodeSent = "N15"

    // Sign-up, first password, creation (`SignUpQuestion`, `decideCreateByAdmin`).
    case anonymousSignUpNotEnabled = "P14"
    case signUpPasswordNotEnabled = "P9"
    case signUpNotAllowed = "P10"
    case anonymousSignUp = "P13"
    case signUpEmailOfProviderAccount = "P6"
    case signUpEmailOfBareAccount = "P7"
    case signUpEmailExists = "P1"
    case signUpDuplicateEmailsAllowed = "P5"
    case signUpByPassword = "P11"
    case passwordLinkAccountDisabled = "P15"
    case passwordLinkNeedsRecentSignIn = "P16"
    case passwordLinkEmailInUse = "P3"
    case passwordAddedToOwnEmail = "P2"
    case passwordLinkNeedsVerifiedEmail = "P17"
    case passwordNeedsProvenAddress = "P18"
    case emailAndPasswordLinked = "P4"
    case adminCreateIdentifierTaken = "P8"
    case accountCreatedByAdmin = "P12"

    // Sign-in with a password (`SignInWithPasswordQuestion`).
    case passwordSignInNotEnabled = "S1"
    case passwordSignInUnknownEmail = "S2"
    case passwordSignInAccountDisabled = "S3"
    case wrongPassword = "S4"
    case passwordSignInNeedsSecondFactor = "S5"
    case signInByPassword = "S6"
    case tooManyWrongPasswords = "S7"

    // Sign-in with a custom token (`SignInWithCustomTokenQuestion`).
    case customTokenAccountMerged = "C4"
    case signUpByCustomToken = "C1"
    case customTokenAccountDisabled = "C2"
    case signInByCustomToken = "C3"

    // Password reset (`ResetPasswordQuestion`).
    case resetPasswordNotEnabled = "R0"
    case resetCodeStale = "R5"
    case resetAccountDisabled = "R7"
    case passwordReset = "R1"
    case resetKeepsProviders = "R6"
    case resetReleasesNumber = "R4"
    case resetUnlinksProviders = "R2"
    case resetSetsFirstPassword = "R3"

    // Changing the address (`decideChangeEmail`, `decideApplyEmailCode`, `decideTakeAddress`).
    case changeEmailAccountDisabled = "U0"
    case changeEmailNeedsVerification = "U1"
    case emailUnchanged = "U2"
    case changeEmailNeedsRecentSignIn = "U6"
    case secondFactorNeedsProvenAddress = "U17"
    case changeEmailExists = "U3"
    case changeEmailExistsDuplicatesAllowed = "U7"
    case emailAdded = "U5"
    case emailChanged = "U4"
    case emailCodeAccountDisabled = "U13"
    case emailCodeStale = "U12"
    case changeCodeEmailExists = "U9"
    case emailChangedByCode = "U11"
    case recoveryOfStrangersAccount = "U30"
    case decoyGivesWay = "U15"
    case recoveryEmailExists = "U10"
    case recoverySuspendsAdditions = "U28"
    case takeoverByRecovery = "U29"
    case emailRecovered = "U14"
    case addressReserved = "U16"

    // Undoing a change of sign-in methods (`decideRevertMethodChange`).
    case revertOfLostAccount = "U18"
    case revertOfDisabledAccount = "U19"
    case revertSettled = "U20"
    case revertInPart = "U22"
    case revertOfNothing = "U21"
    case methodsReverted = "U23"

    // Verifying the address (`VerifyEmailQuestion`).
    case verifyCodeStale = "V1"
    case verifyAccountDisabled = "V2"
    case emailAlreadyVerified = "V3"
    case emailVerified = "V4"
    case firstProofBySession = "V5"
    case firstProofElsewhere = "V6"
    case disownedTooLate = "V7"
    case disownedBehindFactor = "V8"
    case disowned = "V9"

    // Changing the password (`decideChangePassword`).
    case changePasswordNotEnabled = "W1"
    case changePasswordAccountDisabled = "W2"
    case changePasswordNeedsRecentSignIn = "W3"
    case passwordChanged = "W4"

    // Unlinking (`UnlinkQuestion`, `RemoveMethodQuestion`).
    case unlinkAccountDisabled = "K4"
    case nothingToUnlink = "K1"
    case emailRemovalNeedsRecentSignIn = "K5"
    case lastMethodKept = "K2"
    case removalNeedsRecentSignIn = "K6"
    case unlinkNeedsRecentSignIn = "K7"
    case methodUnlinked = "K3"

    // Quarantine (`RestorePasswordQuestion`, `decideDiscardQuarantined`).
    case quarantineAccountDisabled = "B1"
    case notQuarantined = "B2"
    case restorePasswordNotAllowed = "B3"
    case restoreNeedsRecentSignIn = "B4"
    case restoreTooManyWrongPasswords = "B5"
    case restoreWrongPassword = "B6"
    case quarantinedPasswordRestored = "B7"
    case quarantinedMethodDiscarded = "B8"

    // Editing the profile (`decideEditProfile`).
    case editProfileAccountDisabled = "F1"
    case profileUnchanged = "F2"
    case profileEdited = "F3"

    // Deleting (`decideDelete`).
    case deleteUnknownAccount = "D1"
    case deleteAccountDisabled = "D2"
    case deleteNeedsRecentSignIn = "D3"
    case deleteNotAllowed = "D4"
    case accountDeleted = "D5"

    // Updates by an administrator (`UpdateByAdminQuestion`).
    case adminUpdateUnknownAccount = "X1"
    case adminUpdateEmailExists = "X2"
    case adminUpdatePhoneExists = "X3"
    case adminUpdateIdentityInUse = "X4"
    case adminUpdateUnchanged = "X6"
    case accountUpdatedByAdmin = "X5"

    // Imports (`decideImportAccount`).
    case importUnreadable = "Z1"
    case importDuplicateRow = "Z2"
    case importFactorsNeedProvenEmail = "Z3"
    case importIdentityInUse = "Z4"
    case importPhoneInUse = "Z5"
    case importEmailInUse = "Z6"
    case importUnchanged = "Z7"
    case importNotOverwritten = "Z8"
    case importOverwrites = "Z9"
    case importAccountMerged = "Z11"
    case importCreates = "Z10"

    // Repairs (`decideRepair`, `decideUndoRepair`).
    case repairAccountGone = "O1"
    case repairOrphanReclaimed = "O2"
    case repairAccountChanged = "O3"
    case repairNotApplicable = "O4"
    case repairWouldRemoveLastMethod = "O5"
    case repairApplied = "O6"
    case repairUndoClashes = "O7"
    case repairUndone = "O8"

    // Second factors (`decideEnrollSecondFactor`, `decideWithdrawSecondFactor`, `decideReplaceSecondFactors`,
    // `decideRevertSecondFactor`, `decideSendFactorCode`, `decideContinueSignIn`).
    case enrollFactorNotEnabled = "G1"
    case enrollAccountDisabled = "G2"
    case enrollUnsupportedFirstFactor = "G3"
    case enrollNeedsProvenEmail = "G4"
    case enrollNeedsSecondFactor = "G5"
    case enrollNeedsRecentSignIn = "G6"
    case factorAlreadyEnrolled = "G7"
    case tooManyFactors = "G8"
    case factorEnrolled = "G9"
    case withdrawUnknownFactor = "G10"
    case factorWithdrawn = "G11"
    case replaceFactorsNeedsProvenEmail = "G12"
    case replaceTooManyFactors = "G13"
    case factorsReplaced = "G14"
    case revertFactorCodeStale = "G15"
    case revertFactorAccountDisabled = "G16"
    case factorReverted = "G17"
    case factorRegionNotAllowed = "G18"
    case factorCodeSent = "G19"
    case pendingSignInAccountDisabled = "G21"
    case pendingSignInStale = "G20"
    case pendingSignInContinued = "G22"

    // What a token is still good for (`decideAccess`, `decideRefresh`, `decideEndSessions`).
    case tokenAccountGone = "A1"
    case tokenAccountDisabled = "A4"
    case tokenEpochStale = "A2"
    case tokenIssuedBeforeValidSince = "A3"
    case tokenAccepted = "A5"
    case refreshAccountGone = "T1"
    case refreshAccountDisabled = "T4"
    case refreshSessionGone = "T2"
    case refreshBeforeValidSince = "T3"
    case refreshAccepted = "T5"
    case sessionEnded = "T6"
    case sessionUnused = "T7"
    case sessionTooOld = "T8"
    case sessionsEndedAlready = "T9"
    case sessionsEndedByRequest = "T10"

    // Coming back with a pending credential (`decidePendingCredential`).
    case pendingUnknown = "Y1"
    case pendingUsed = "Y2"
    case pendingExpired = "Y3"
    case pendingOfOtherTenant = "Y4"
    case pendingOfOtherAccount = "Y5"
    case pendingIssuerChanged = "Y7"
    case pendingUsable = "Y6"

    // Proving a conflict (`decideProveConflict`, `decideStartProof`, `decideProveBySession`).
    case conflictUnknown = "Q1"
    case conflictClosed = "Q2"
    case conflictExpired = "Q3"
    case proofByMailNotOffered = "Q15"
    case proofMailsUsedUp = "Q10"
    case tooManyProofMails = "Q16"
    case proofMailed = "Q11"
    case proofNotExpected = "Q4"
    case proofExpired = "Q5"
    case proofTooManyAnswers = "Q6"
    case proofStale = "Q7"
    case proofAccepted = "Q8"
    case proofWrong = "Q9"
    case proofBySessionOfOtherAccount = "Q12"
    case proofNeedsRecentSignIn = "Q13"
    case provenBySession = "Q14"

    // Settling a conflict (`ResolveConflictQuestion`, `refusalOfNextSignIn`).
    case resolveAccountGone = "J1"
    case resolveUnproven = "J2"
    case resolveProofExpired = "J3"
    case resolveProofStale = "J4"
    case resolveProviderNotEnabled = "J5"
    case resolveAccountDisabled = "J6"
    case resolveNeedsSecondFactor = "J7"
    case resolveProofNotOffered = "J14"
    case resolveAlreadyLinked = "J8"
    case resolveIdentityInUse = "J9"
    case credentialAddressTaken = "U26"
    case takeoverByConflict = "J11"
    case subjectReplacedAfterProof = "J16"
    case resolveSecondSubject = "J10"
    case credentialLinkedAfterProof = "J12"
    case conflictDeclined = "J13"
    case declinedByOperator = "J17"
    case nextSignInLeavesConflict = "J15"

    // Merging accounts (`decideMergeAccounts`, `decideMergeApproval`, `decideUndoMerge`).
    case mergeSameAccount = "E1"
    case mergeAccountGone = "E2"
    case mergeSessionEnded = "E14"
    case mergeAccountDisabled = "E3"
    case mergeNeedsRecentSignIn = "E4"
    case mergeNeedsSecondFactor = "E5"
    case mergeClaimsNeedAdmin = "E6"
    case mergeWhileRecoverable = "E15"
    case mergeUnknownChoice = "E7"
    case mergeNeedsChoices = "E8"
    case mergeNeedsVerifiedEmail = "E16"
    case mergeTooManyFactors = "E9"
    case mergeFactorNameRepeated = "E10"
    case mergeFactorsNeedProvenEmail = "E11"
    case mergeLeavesNoMethod = "E12"
    case accountsMerged = "E13"
    case mergeWithdrawn = "H1"
    case mergeVetoed = "H2"
    case mergeAccountsChanged = "H3"
    case mergeCommitted = "H4"
    case mergeTimedOut = "H5"
    case mergeWaiting = "H6"
    case undoNotCommitted = "H7"
    case undoTooLate = "H8"
    case undoLaterChanges = "H9"
    case mergeUndone = "H10"
}

extension Rule {
    /// The name of the case, such as `takeoverByProvider`.
    package var name: String { String(describing: self) }

    /// The name with the code, such as `takeoverByProvider (I9)`.
    package var title: String { "\(name) (\(rawValue))" }

    /// The condition and the outcome. Letters stand for accounts: docs/reference/decisions.md says for which.
    package var text: RuleText {
        switch self {
        // Sign-in with a provider.
        case .signInProviderNotEnabled:
            RuleText("the provider is not enabled, or has another issuer by now", "refused: operation not allowed")
        case .identityOwnerDisabled: RuleText("F is disabled", "refused: user disabled")
        case .identityOwnerNeedsSecondFactor:
            RuleText("F must show its second factor", "second factor; nothing is written")
        case .signInByIdentity:
            RuleText(
                "F",
                """
                signed in to F, whoever owns the address; F's own address becomes proven if a trusted provider names \
                it
                """
            )
        case .reauthenticationByUntrustedEmail:
            RuleText("reauthentication; M, untrusted", "refused: user not found; never a conflict")
        case .reauthenticationOfUnknownIdentity:
            RuleText("reauthentication", "refused: user not found; nothing is created or linked")
        case .untrustedEmailConflict:
            RuleText(
                "M, untrusted",
                "conflict: account exists with different credential, with the providers of M; nothing is written"
            )
        case .emailOwnerDisabled: RuleText("M is disabled", "refused: user disabled")
        case .emailOwnerNeedsSecondFactor:
            RuleText("M must show its second factor", "second factor; I7 to I9 wait for it")
        case .takeoverByProvider:
            RuleText("M is not proven", "takeover (below) by the identity, which is linked and brings its profile")
        case .takeoverFromFormerHolder:
            RuleText(
                "M is proven only by a provider whose word counts for new addresses (verifying-new)",
                "takeover (below) by the identity, as I9"
            )
        case .subjectDiffers:
            RuleText(
                "M has another subject of this provider, policy: conflict",
                "conflict: account exists with different credential; a session of M settles it"
            )
        case .takeoverBySubject:
            RuleText(
                "M has another subject of this provider, policy: takeover",
                "takeover (below) by the identity, which is linked and brings its profile"
            )
        case .subjectMoved:
            RuleText(
                "M has another subject of this provider, policy: move",
                "as I8, for a migration that the operator has planned"
            )
        case .subjectReplaced:
            RuleText(
                "M has another subject of this provider",
                "signed in to M, whose old subject is replaced; the answer says the address was recycled"
            )
        case .linkByProvenEmail: RuleText("M", "signed in to M; the identity is linked and fills blanks in the profile")
        case .providerSignUpNotAllowed: RuleText("clients may not sign up", "refused: admin only")
        case .signUpWithoutEmail: RuleText("no address", "new account without one")
        case .signUpWithDuplicateEmail:
            RuleText("duplicates are allowed", "new account; the address stays in the provider's row")
        case .signUpWithEmail: RuleText("otherwise", "new account with the address, proven if the provider is trusted")
        // Linking a provider.
        case .linkProviderNotEnabled:
            RuleText("the provider is not enabled, or has another issuer by now", "refused: operation not allowed")
        case .linkAccountDisabled: RuleText("T is disabled", "refused: user disabled")
        case .linkNeedsRecentSignIn:
            RuleText("the session of T is old, and policy asks for a recent one", "refused: sign in again")
        case .linkIdentityAlreadyLinked: RuleText("F is T", "refused: already linked; no pending credential")
        case .linkIdentityInUse: RuleText("F is another account", "conflict: credential already in use by F")
        case .linkEmailInUse:
            RuleText("one account per address; M is another account", "conflict: address already in use by M")
        case .linkOfSecondSubject:
            RuleText(
                "T has another subject of this provider",
                "conflict: credential already in use by T; nothing is replaced"
            )
        case .subjectReplacedByOwner:
            RuleText(
                """
                T has another subject of this provider, and the credential waits in a conflict that a sign-in opened \
                about T
                """,
                "the new subject replaces the old one, as T's owner wants; the profile stays"
            )
        case .linkNeedsSecondFactor:
            RuleText(
                "T must show its second factor and the session does not carry it",
                "second factor; nothing is written"
            )
        case .anonymousUpgradedByProvider:
            RuleText("T is anonymous", "as L4 or L5; T is a real account from now on, under its own id")
        case .providerLinked:
            RuleText(
                "one account per address",
                """
                linked; T without an address gets the provider's, proven if trusted; none where T had one that was \
                taken off (or, by policy, has a second factor) and the provider is not trusted or its word counts \
                for new addresses alone; T's own address becomes proven if a trusted provider names it; the profile \
                stays
                """
            )
        case .providerLinkedDuplicateEmails: RuleText("duplicates are allowed", "as L4, but no address is copied")
        // E-mail link.
        case .emailLinkNotEnabled: RuleText("the method is not enabled", "refused: operation not allowed")
        case .emailLinkAccountDisabled: RuleText("O or T is disabled", "refused: user disabled")
        case .mailedLinkNeedsRecentSignIn:
            RuleText(
                "T is not anonymous and not O, the session is old, and policy asks for a recent one",
                "refused: sign in again"
            )
        case .emailLinkAddressInUse: RuleText("T, and O is another account", "refused: address exists")
        case .emailLinkNeedsSecondFactor:
            RuleText("the account must show its second factor", "second factor; nothing is written")
        case .anonymousUpgradedByEmailLink: RuleText("T is anonymous, no O", "the address is set on T, proven")
        case .emailLinkReplacementNeedsRecentSignIn:
            RuleText(
                "T has another address, or had one that was taken off, no O, and the session is old",
                "refused: sign in again"
            )
        case .emailSetByEmailLink:
            RuleText(
                "T",
                """
                the address is set or proven on T; replacing one remembers and tells the first, and ends other \
                sessions
                """
            )
        case .mailedLinkFromFormerHolder:
            RuleText(
                "O is proven only by a provider whose word counts for new addresses (verifying-new)",
                "takeover by the link, as M3"
            )
        case .signInByEmailLink: RuleText("O is proven", "signed in to O, which keeps all it has")
        case .takeoverByEmailLink: RuleText("O is not proven", "takeover by the link")
        case .emailLinkSignUpNotAllowed: RuleText("clients may not sign up", "refused: admin only")
        case .signUpByEmailLink: RuleText("otherwise", "new account with the address, proven")
        // Telephone number.
        case .phoneNotEnabled: RuleText("the method is not enabled", "refused: operation not allowed")
        case .phoneAccountDisabled: RuleText("T, or without T the account N, is disabled", "refused: user disabled")
        case .reauthenticationOfUnknownNumber:
            RuleText(
                "reauthentication, and nobody has the number, or T has not",
                "refused: user not found; nothing is created or attached"
            )
        case .numberNeedsRecentSignIn:
            RuleText("T, not N, the session is old, and policy asks for a recent one", "refused: sign in again")
        case .phoneInUse:
            RuleText(
                "T, and N is another account, by a code",
                "refused: number exists; the code is used up, and a temporary proof is given for it"
            )
        case .phoneInUseTemporaryProof:
            RuleText("the same by a temporary proof", "refused: number exists; the proof stays good")
        case .phoneRefusedWithSecondFactor:
            RuleText("the account has a second factor", "refused: unsupported first factor")
        case .phoneAlreadyLinked: RuleText("N is T", "signed in to T; nothing is written")
        case .anonymousUpgradedByPhone:
            RuleText("T is anonymous", "the number is set on T; T is a real account from now on, under its own id")
        case .phoneLinked:
            RuleText("T", "the number is set on T, in place of another, which is free again; sessions stay")
        case .signInByPhoneCode: RuleText("N, by a code", "signed in to N, which keeps all it has")
        case .signInByTemporaryProof: RuleText("N, by a temporary proof", "as N3")
        case .phoneSignUpNotAllowed: RuleText("clients may not sign up", "refused: admin only")
        case .signUpByPhone: RuleText("otherwise", "new account with the number")
        case .phoneRegionNotAllowed:
            RuleText(
                "the project sends no messages to where the number is (smsRegionConfig)",
                "refused: operation not allowed"
            )
        case .phoneCodeSent: RuleText("otherwise", "a code is sent, within the limits (phone.md)")
        // Sign-up, first password, creation.
        case .anonymousSignUpNotEnabled: RuleText("anonymous, and that is not enabled", "refused: admin only")
        case .signUpPasswordNotEnabled: RuleText("password, and that is not enabled", "refused: operation not allowed")
        case .signUpNotAllowed: RuleText("a new account, and clients may not sign up", "refused: admin only")
        case .anonymousSignUp: RuleText("anonymous", "new account with nothing")
        case .signUpEmailOfProviderAccount:
            RuleText(
                "the address belongs to an account with providers and no password or link",
                "refused: address exists"
            )
        case .signUpEmailOfBareAccount:
            RuleText(
                "the address belongs to an account with no method at all, as after unlinking its password",
                "refused: address exists"
            )
        case .signUpEmailExists:
            RuleText(
                "the address belongs to any other account",
                "refused: address exists, with enumeration protection too"
            )
        case .signUpDuplicateEmailsAllowed:
            RuleText(
                "free address, duplicates allowed",
                "new account, also when the address stands in somebody's provider row"
            )
        case .signUpByPassword: RuleText("free address", "new account; the address is not proven")
        case .passwordLinkAccountDisabled: RuleText("T is disabled", "refused: user disabled")
        case .passwordLinkNeedsRecentSignIn:
            RuleText("the session of T is old", "refused: sign in again, before the address is looked at")
        case .passwordLinkEmailInUse:
            RuleText("T, and the address belongs to another account", "refused: address exists")
        case .passwordAddedToOwnEmail:
            RuleText(
                "T, and the address is T's own",
                "the password is set; the address stays as proven as it was; other sessions end"
            )
        case .passwordLinkNeedsVerifiedEmail:
            RuleText(
                "T has another address, or had one that was taken off, the one asked for is free, addresses protected",
                "refused: verify the new address first, as in U1"
            )
        case .passwordNeedsProvenAddress:
            RuleText(
                "T has a second factor, the address is free, and policy keeps unproven addresses off such accounts",
                "refused: unverified address"
            )
        case .emailAndPasswordLinked:
            RuleText(
                "T, and the address is free",
                """
                address (not proven) and password are set on T; the first address is remembered and told; other \
                sessions end
                """
            )
        case .adminCreateIdentifierTaken:
            RuleText(
                "an administrator asks for an id, number or address that is taken",
                "refused: duplicate id, number exists, address exists, in this order"
            )
        case .accountCreatedByAdmin:
            RuleText("an administrator asks for anything else", "created; policy about clients does not apply")
        // Sign-in with a password.
        case .passwordSignInNotEnabled: RuleText("the method is not enabled", "refused: operation not allowed")
        case .passwordSignInUnknownEmail:
            RuleText("no O", "refused: address not found; protected: invalid login credentials")
        case .passwordSignInAccountDisabled: RuleText("O is disabled", "refused: user disabled")
        case .wrongPassword:
            RuleText(
                "O has no password, or another one",
                "refused: invalid password; protected: invalid login credentials"
            )
        case .passwordSignInNeedsSecondFactor: RuleText("O must show its second factor", "second factor")
        case .signInByPassword: RuleText("otherwise", "signed in")
        case .tooManyWrongPasswords:
            RuleText(
                "too many wrong passwords for the address (before S4; before S2 where addresses are protected)",
                "refused: too many attempts"
            )
        // Sign-in with a custom token.
        case .customTokenAccountMerged:
            RuleText("no account has the uid, and one that had it was merged into another", "refused: user merged")
        case .signUpByCustomToken:
            RuleText("no account has the uid", "new account with that uid; no address is ever matched")
        case .customTokenAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .signInByCustomToken:
            RuleText("otherwise", "signed in, without second factor: the backend answers for the user")
        // Password reset.
        case .resetPasswordNotEnabled: RuleText("passwords are not enabled", "refused: operation not allowed")
        case .resetCodeStale:
            RuleText("the account is gone or has another address than the code was sent to", "refused: invalid code")
        case .resetAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .passwordReset: RuleText("no provider, no number", "password set, address proven, sessions end")
        case .resetKeepsProviders:
            RuleText(
                "proven before, and policy leaves providers alone (concord.passwordReset.unlinksProviders off)",
                "as R1; providers and number stay"
            )
        case .resetReleasesNumber:
            RuleText(
                "a number, no provider",
                "as R1; the number's claim is released, the number stays as unproven data"
            )
        case .resetUnlinksProviders: RuleText("providers and a password", "as R4; every provider is unlinked")
        case .resetSetsFirstPassword: RuleText("providers and no password", "as R2")
        // Changing the address.
        case .changeEmailAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .changeEmailNeedsVerification:
            RuleText("by the client, addresses protected", "refused: verify the new address first")
        case .emailUnchanged: RuleText("by the client, the address it has", "nothing changes")
        case .changeEmailNeedsRecentSignIn: RuleText("by the client, the session is old", "refused: sign in again")
        case .secondFactorNeedsProvenAddress:
            RuleText(
                """
                by the client, the account has a second factor, and policy keeps unproven addresses off such \
                accounts
                """,
                "refused: unverified address"
            )
        case .changeEmailExists: RuleText("by the client, O is another account", "refused: address exists")
        case .changeEmailExistsDuplicatesAllowed:
            RuleText(
                "the same with duplicates allowed",
                "refused: address exists; top-level addresses are unique in both modes"
            )
        case .emailAdded: RuleText("by the client, the account has none", "set, not proven; sessions end, new tokens")
        case .emailChanged:
            RuleText(
                "by the client, otherwise",
                "set, not proven; the first address is remembered; sessions end, new tokens"
            )
        case .emailCodeAccountDisabled: RuleText("by code: the account is disabled", "refused: user disabled")
        case .emailCodeStale:
            RuleText(
                "by code: the account is gone, or its address or session epoch is not what the code was made for",
                "refused: invalid code"
            )
        case .changeCodeEmailExists:
            RuleText("by code, new address: O is another account", "refused: address exists; the code is used up")
        case .emailChangedByCode:
            RuleText(
                "by code, new address: otherwise",
                "set, proven; the first address is remembered; sessions end, no tokens"
            )
        case .recoveryOfStrangersAccount:
            RuleText(
                "by code, former address: nobody had shown to own it, and the account must show its second factor",
                "refused: invalid code; who proves the address gets it"
            )
        case .decoyGivesWay:
            RuleText(
                """
                by code, former address: O is another account, made after the code, whose address nobody has shown \
                to own
                """,
                "as U14, U28 or U29; O gives the address up"
            )
        case .recoveryEmailExists:
            RuleText("by code, former address: O is another account", "refused: address exists; the code stays usable")
        case .recoverySuspendsAdditions:
            RuleText(
                """
                by code, former address: proven before it was replaced, and methods or second factors are no older \
                than the code
                """,
                "as U14; those methods are suspended, those second factors removed"
            )
        case .takeoverByRecovery:
            RuleText(
                "by code, former address: nobody had shown to own it, nor has since",
                "takeover, as M3, with the address set; sessions end, no tokens"
            )
        case .emailRecovered: RuleText("by code, former address: otherwise", "set, proven; sessions end, no tokens")
        case .addressReserved:
            RuleText(
                "any decision that would give an account an address that is reserved for another",
                "refused: address exists"
            )
        // Undoing a change of sign-in methods.
        case .revertOfLostAccount:
            RuleText("the account is gone, or was made anew after the code", "refused: invalid code")
        case .revertOfDisabledAccount: RuleText("the account is disabled", "refused: user disabled")
        case .revertSettled:
            RuleText(
                "a reset by the same mailbox, an administrator or an earlier code has settled every method since",
                "refused: invalid code"
            )
        case .revertInPart:
            RuleText(
                "another account has a number or an identity that would come back",
                "as U23; that method stays away"
            )
        case .revertOfNothing: RuleText("every method is as it was before the change", "every session ends")
        case .methodsReverted:
            RuleText("otherwise", "the methods are as they were before the change; every session ends, no tokens")
        // Verifying the address.
        case .verifyCodeStale:
            RuleText("the account is gone or has another address than the code was sent to", "refused: invalid code")
        case .verifyAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .emailAlreadyVerified:
            RuleText(
                """
                confirmed, and proven already (if only by a word for new addresses, not from the session that asked \
                for the code)
                """,
                "nothing changes"
            )
        case .emailVerified:
            RuleText("confirmed, and a first proof ends no sessions by policy", "proven; sessions stay")
        case .firstProofBySession:
            RuleText("confirmed from the session that asked for the code", "proven; sessions stay")
        case .firstProofElsewhere:
            RuleText(
                "confirmed otherwise",
                "proven; sessions end; new tokens for another session that the code came with"
            )
        case .disownedTooLate: RuleText("disowned, and proven already", "refused: invalid code")
        case .disownedBehindFactor:
            RuleText(
                "disowned, and the account must show its second factor",
                """
                the account gives the address up; the password into quarantine, sessions end, codes and open \
                conflicts void
                """
            )
        case .disowned: RuleText("disowned", "takeover: as M3, proven by the code; no tokens")
        // Changing the password.
        case .changePasswordNotEnabled: RuleText("passwords are not enabled", "refused: operation not allowed")
        case .changePasswordAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .changePasswordNeedsRecentSignIn: RuleText("the session is old", "refused: sign in again")
        case .passwordChanged: RuleText("otherwise", "set; sessions end, new tokens")
        // Unlinking.
        case .unlinkAccountDisabled: RuleText("by the client, the account is disabled", "refused: user disabled")
        case .nothingToUnlink: RuleText("the account has nothing of what is to go", "nothing changes")
        case .emailRemovalNeedsRecentSignIn:
            RuleText("by the client, the address is to go and the session is old", "refused: sign in again")
        case .lastMethodKept:
            RuleText(
                """
                by the client, a method would go and none that works (below) be left; on Concord's own routes, and \
                on the others where policy keeps the last
                """,
                "refused: last sign-in method"
            )
        case .removalNeedsRecentSignIn:
            RuleText("on Concord's own routes, the session is old", "refused: sign in again")
        case .unlinkNeedsRecentSignIn:
            RuleText(
                "by the client, a method that works would go, the session is old, and policy asks for a recent one",
                "refused: sign in again"
            )
        case .methodUnlinked:
            RuleText(
                "otherwise",
                """
                gone; sessions stay; unlinking the password keeps the address and its claim; an address that the \
                client takes off is remembered and told
                """
            )
        // Quarantine.
        case .quarantineAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .notQuarantined:
            RuleText(
                "nothing is suspended under that name, or its time is over, or the account has the method",
                "refused: method not quarantined"
            )
        case .restorePasswordNotAllowed:
            RuleText("passwords are not enabled, or the account has no address", "refused: operation not allowed")
        case .restoreNeedsRecentSignIn: RuleText("the session is old", "refused: sign in again")
        case .restoreTooManyWrongPasswords:
            RuleText("too many wrong passwords for the address", "refused: too many attempts")
        case .restoreWrongPassword: RuleText("another password", "refused: invalid password; it counts as at a sign-in")
        case .quarantinedPasswordRestored: RuleText("otherwise", "the password is the account's again; sessions stay")
        case .quarantinedMethodDiscarded:
            RuleText("the owner gives a suspended method up, after B1, B2 and B4", "it is deleted")
        // Editing the profile.
        case .editProfileAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .profileUnchanged: RuleText("name and picture are as they are to be", "nothing changes")
        case .profileEdited: RuleText("otherwise", "the profile is replaced; sessions stay")
        // Deleting.
        case .deleteUnknownAccount: RuleText("there is no such account", "refused: user not found")
        case .deleteAccountDisabled: RuleText("by the client, disabled", "refused: user disabled")
        case .deleteNeedsRecentSignIn: RuleText("by the client, the session is old", "refused: sign in again")
        case .deleteNotAllowed: RuleText("by the client, and clients may not", "refused: admin only")
        case .accountDeleted: RuleText("otherwise", "deleted; every identifier is free")
        // Updates by an administrator.
        case .adminUpdateUnknownAccount: RuleText("there is no such account", "refused: user not found")
        case .adminUpdateEmailExists: RuleText("the address belongs to another account", "refused: address exists")
        case .adminUpdatePhoneExists: RuleText("the number belongs to another account", "refused: number exists")
        case .adminUpdateIdentityInUse: RuleText("the identity belongs to another account", "refused: already linked")
        case .adminUpdateUnchanged: RuleText("all is so already", "nothing changes")
        case .accountUpdatedByAdmin:
            RuleText(
                "otherwise",
                """
                changed; a new address is not proven unless said so; a new address or password, disabling and \
                revoking end sessions
                """
            )
        // Imports.
        case .importUnreadable:
            RuleText(
                "the row cannot be read: no id, an address that is none, a hash of another algorithm",
                "left out, and why"
            )
        case .importDuplicateRow: RuleText("a row before it has the same id", "left out")
        case .importFactorsNeedProvenEmail:
            RuleText("it has second factors, and no address or none that is proven", "left out")
        case .importIdentityInUse: RuleText("an identity belongs to another account", "left out")
        case .importPhoneInUse: RuleText("the number belongs to another account", "left out")
        case .importEmailInUse: RuleText("the address belongs to another account", "left out")
        case .importUnchanged: RuleText("the account is there, and is what the row says", "nothing changes")
        case .importNotOverwritten: RuleText("the account is there, and may not be overwritten", "left out")
        case .importOverwrites:
            RuleText(
                "the account is there",
                "it becomes what the row says; what the row has not is gone; every session ends"
            )
        case .importAccountMerged: RuleText("an account with that id was merged into another", "left out")
        case .importCreates: RuleText("otherwise", "created")
        // Repairs.
        case .repairAccountGone: RuleText("the repair is of an account, and it is gone", "left out")
        case .repairOrphanReclaimed:
            RuleText("the repair is of rows that named no account, and there is one now", "left out")
        case .repairAccountChanged:
            RuleText("the account has changed since the plan was made, by others than the plan", "left out; plan again")
        case .repairNotApplicable:
            RuleText(
                "the repair claims what another account owns by now, or there is nothing of the kind to repair",
                "left out"
            )
        case .repairWouldRemoveLastMethod: RuleText("the repair would take the last method that works", "left out")
        case .repairApplied: RuleText("otherwise", "the repair is applied, and kept in the journal")
        case .repairUndoClashes:
            RuleText(
                "the repair is to be taken back, and somebody has changed since what it changed",
                "it stays; the clash is told"
            )
        case .repairUndone:
            RuleText(
                "the repair is to be taken back",
                "everything it changed is as before, but for sessions, codes and conflicts, which stay gone"
            )
        // Second factors.
        case .enrollFactorNotEnabled:
            RuleText("the project lets nobody enrol such a factor (mfa)", "refused: operation not allowed")
        case .enrollAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .enrollUnsupportedFirstFactor:
            RuleText(
                "the session is anonymous, or signed in by a number, a custom token or Game Center",
                "refused: unsupported first factor"
            )
        case .enrollNeedsProvenEmail:
            RuleText("the address is not proven, or only by a word for new addresses", "refused: unverified e-mail")
        case .enrollNeedsSecondFactor:
            RuleText(
                "the account must show its second factor and the session does not carry it",
                "refused: sign in again"
            )
        case .enrollNeedsRecentSignIn: RuleText("the sign-in is too old", "refused: sign in again")
        case .factorAlreadyEnrolled:
            RuleText("the number is a second factor of the account", "refused: second factor exists")
        case .tooManyFactors: RuleText("the account has five", "refused: second factor limit")
        case .factorEnrolled:
            RuleText(
                "otherwise",
                """
                enrolled; the address is mailed a way back, every other session ends, and the answer's session has \
                shown it
                """
            )
        case .withdrawUnknownFactor: RuleText("the account has no such factor", "refused: not found")
        case .factorWithdrawn: RuleText("otherwise", "withdrawn; every other session ends")
        case .replaceFactorsNeedsProvenEmail:
            RuleText("the account would have some, and its address is not proven", "refused: unverified e-mail")
        case .replaceTooManyFactors: RuleText("there are more than five", "refused: second factor limit")
        case .factorsReplaced: RuleText("otherwise", "replaced; sessions end where more than names changed")
        case .revertFactorCodeStale:
            RuleText("the account, the factor or the address is gone or another", "refused: invalid code")
        case .revertFactorAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .factorReverted: RuleText("otherwise", "that factor goes and every session ends")
        case .factorRegionNotAllowed:
            RuleText("the project sends no messages to where the number is", "refused: operation not allowed")
        case .factorCodeSent: RuleText("otherwise", "a code is sent, within the limits (phone.md)")
        case .pendingSignInAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .pendingSignInStale:
            RuleText(
                """
                the account is gone, its sessions have ended, or that of a link has, or what was shown first is \
                somebody else's by now
                """,
                "refused: invalid pending credential"
            )
        case .pendingSignInContinued:
            RuleText(
                "otherwise",
                """
                the code is checked; what the first factor amounts to is asked again, with the second one proven, \
                and applied
                """
            )
        // What a token is still good for.
        case .tokenAccountGone: RuleText("ID token: the account is gone", "refused: user not found")
        case .tokenAccountDisabled: RuleText("ID token: the account is disabled", "refused: user disabled")
        case .tokenEpochStale: RuleText("ID token: of another session epoch", "refused: token expired")
        case .tokenIssuedBeforeValidSince:
            RuleText("ID token: issued in a second before validSince", "refused: token expired")
        case .tokenAccepted: RuleText("ID token: otherwise", "good")
        case .refreshAccountGone: RuleText("refresh token: the account is gone", "refused: user not found")
        case .refreshAccountDisabled: RuleText("refresh token: the account is disabled", "refused: user disabled")
        case .refreshSessionGone:
            RuleText("refresh token: the session is gone or of another epoch", "refused: token expired")
        case .refreshBeforeValidSince:
            RuleText("refresh token: started in a second before validSince", "refused: token expired")
        case .refreshAccepted: RuleText("refresh token: otherwise", "good")
        case .sessionEnded: RuleText("ID token: its session was ended", "refused: token expired")
        case .sessionUnused:
            RuleText(
                "either: the session was not used for concord.sessions.inactivitySeconds",
                "refused: token expired"
            )
        case .sessionTooOld:
            RuleText("either: the session is concord.sessions.absoluteSeconds old", "refused: token expired")
        case .sessionsEndedAlready: RuleText("sessions to be ended: there are none", "nothing changes")
        case .sessionsEndedByRequest:
            RuleText(
                "sessions to be ended: otherwise",
                """
                they end; where all of them do, so does every ID token; if the user asks, open conflicts are void, \
                and mailed codes but those that take something back (where a session ends itself, those alone that \
                change the address)
                """
            )
        // Coming back with a pending credential.
        case .pendingUnknown: RuleText("the handle names none", "invalid")
        case .pendingUsed: RuleText("it was used, or is void", "invalid")
        case .pendingExpired: RuleText("its time is over", "invalid")
        case .pendingOfOtherTenant: RuleText("it is of another tenant", "invalid")
        case .pendingOfOtherAccount:
            RuleText("it came with a session of another account than the conflict's", "invalid")
        case .pendingIssuerChanged: RuleText("its provider has another issuer by now", "invalid")
        case .pendingUsable: RuleText("otherwise, without a session too", "usable; only success closes it")
        // Proving a conflict.
        case .conflictUnknown: RuleText("the handle names none, or one of another tenant", "refused: unknown")
        case .conflictClosed: RuleText("it is resolved, declined or superseded", "refused: closed")
        case .conflictExpired: RuleText("its time is over", "refused: expired")
        case .proofByMailNotOffered:
            RuleText(
                "a mail is asked for, and policy lets none settle what was brought, whoever the account is",
                "refused: proof not offered"
            )
        case .proofMailsUsedUp: RuleText("a mail is asked for, and five were sent", "refused: too many attempts")
        case .tooManyProofMails:
            RuleText(
                "a mail is asked for, and ten were sent about the account within the hour, whatever the conflict",
                "refused: too many mails"
            )
        case .proofMailed:
            RuleText("a mail is asked for otherwise", "a link and a code are mailed; what was mailed before is void")
        case .proofNotExpected:
            RuleText("an answer comes, and nothing was asked for, or it is proven already", "refused: unproven")
        case .proofExpired: RuleText("the proof's quarter of an hour is over", "refused: proof expired")
        case .proofTooManyAnswers:
            RuleText("five wrong answers were given", "refused: too many attempts; the right one counts no more")
        case .proofStale: RuleText("account, address or configuration is not what it was", "refused: proof stale")
        case .proofAccepted: RuleText("the answer is right", "proven")
        case .proofWrong: RuleText("the answer is wrong", "counted, and refused")
        case .proofBySessionOfOtherAccount: RuleText("a session of another account", "refused: unproven")
        case .proofNeedsRecentSignIn: RuleText("a session whose sign-in is too old", "refused: sign in again")
        case .provenBySession: RuleText("a session of the account, from a recent sign-in", "proven")
        // Settling a conflict.
        case .resolveAccountGone: RuleText("the account is gone", "refused: unknown")
        case .resolveUnproven: RuleText("it is not proven, or by somebody else", "refused: unproven")
        case .resolveProofExpired: RuleText("the proof's time is over", "refused: proof expired")
        case .resolveProofStale:
            RuleText("account, address or configuration is not what it was", "refused: proof stale")
        case .resolveProviderNotEnabled:
            RuleText("the provider is not enabled, or has another issuer by now", "refused: operation not allowed")
        case .resolveAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .resolveNeedsSecondFactor: RuleText("the account has a second factor", "refused: second factor required")
        case .resolveProofNotOffered:
            RuleText(
                """
                policy does not let a proof of this kind settle a conflict of this provider with the account's \
                methods
                """,
                "refused: proof not offered"
            )
        case .resolveAlreadyLinked:
            RuleText("the identity is the account's already", "sign in; the conflict is resolved")
        case .resolveIdentityInUse: RuleText("the identity is another account's", "refused: already linked")
        case .credentialAddressTaken:
            RuleText("a third account has the credential's address, one account per address", "refused: address exists")
        case .takeoverByConflict:
            RuleText("proven by mail, and nobody had shown to own the address before", "takeover, as M3; link; sign in")
        case .subjectReplacedAfterProof:
            RuleText(
                "the account has another subject of this provider, proven by a session, policy: conflict",
                "the new subject replaces the old one; sign in"
            )
        case .resolveSecondSubject:
            RuleText("the account has another subject of this provider", "refused; nothing is replaced")
        case .credentialLinkedAfterProof: RuleText("otherwise", "link, as L4; sign in")
        case .conflictDeclined: RuleText("whoever holds the handle turns the conflict down", "declined")
        case .declinedByOperator: RuleText("an administrator turns the conflict down", "declined")
        case .nextSignInLeavesConflict:
            RuleText(
                """
                by the next sign-in: proven by mail, and nobody had shown to own the address before, or the account \
                has another subject of this provider
                """,
                "stays proven: who signs in need not be who reads the mail, to whom J11 is left"
            )
        // Merging accounts.
        case .mergeSameAccount: RuleText("both are one account", "refused: same account")
        case .mergeAccountGone: RuleText("one of the accounts does not exist", "refused: account not found")
        case .mergeSessionEnded:
            RuleText(
                "asked by owners, and a session of one of them has ended, as by a takeover",
                "refused: token expired"
            )
        case .mergeAccountDisabled: RuleText("one of them is disabled", "refused: account disabled")
        case .mergeNeedsRecentSignIn:
            RuleText("asked by owners, and the sign-in of one of the sessions is old", "refused: sign in again")
        case .mergeNeedsSecondFactor:
            RuleText(
                "asked by owners, and an account has a second factor that its session has not shown",
                "refused: second factor required"
            )
        case .mergeClaimsNeedAdmin:
            RuleText(
                "asked by owners, and custom attributes would be chosen or given up",
                "refused: an administrator is needed"
            )
        case .mergeWhileRecoverable:
            RuleText(
                "asked by owners, and a mail can still take back what was done to the account that goes",
                "refused: an administrator is needed"
            )
        case .mergeUnknownChoice: RuleText("something is chosen that neither account has", "refused: unknown choice")
        case .mergeNeedsChoices:
            RuleText(
                """
                both have what an account has but once and nobody has chosen, or a password is under an address that \
                nobody has shown to have
                """,
                "the choices to be made; nothing is written"
            )
        case .mergeNeedsVerifiedEmail:
            RuleText(
                """
                asked by owners, addresses protected, and an address that nobody has shown to have, or only by a \
                word for new addresses, would be taken where there is, or was, another
                """,
                "refused: unverified e-mail"
            )
        case .mergeTooManyFactors:
            RuleText("there would be more than five second factors", "refused: too many second factors")
        case .mergeFactorNameRepeated:
            RuleText("a second factor of each has the same name", "refused: second factor repeated")
        case .mergeFactorsNeedProvenEmail:
            RuleText(
                "there would be second factors, and no address that is proven by more than a word for new addresses",
                "refused: unverified e-mail"
            )
        case .mergeLeavesNoMethod: RuleText("no method to sign in with would be left", "refused: no method left")
        case .accountsMerged:
            RuleText(
                "otherwise",
                """
                merged: the account that stays has what was chosen and everything the other had alone; the other's \
                sessions end, its own as well where its password or second factors change
                """
            )
        case .mergeWithdrawn: RuleText("an operator says no", "aborted: withdrawn")
        case .mergeVetoed: RuleText("a receiver says no", "aborted: vetoed")
        case .mergeAccountsChanged:
            RuleText("one of the accounts is not what it was when receivers were asked", "aborted: accounts changed")
        case .mergeCommitted: RuleText("every receiver has said yes", "committed")
        case .mergeTimedOut: RuleText("the time is over", "aborted: timed out")
        case .mergeWaiting: RuleText("otherwise", "it waits")
        case .undoNotCommitted: RuleText("the merge was not committed, or is undone", "refused: not committed")
        case .undoTooLate: RuleText("the time to undo it is over", "refused: too late")
        case .undoLaterChanges:
            RuleText(
                "later changes stand in the way, and are not to be kept",
                "refused: later changes; nothing is written"
            )
        case .mergeUndone:
            RuleText("otherwise", "undone: both accounts are as they were, but for later changes that are kept")
        }
    }
}

/// The words of a rule. docs/reference/decisions.md is generated from them.
package struct RuleText: Sendable, Hashable {
    /// Under which circumstances it is the rule, after those before it in its table.
    package let condition: String
    package let outcome: String

    init(_ condition: String, _ outcome: String) {
        self.condition = condition
        self.outcome = outcome
    }
}

extension RuleText {
    /// Both in a sentence for somebody who has not got the tables at hand: letters stand for accounts there.
    package var sentence: String {
        Self.spelledOut("\(outcome) (\(condition))")
    }

    private static let letters: [Character: String] = [
        "F": "the owner of the identity", "M": "the owner of the address", "T": "the account of the session",
        "O": "the account with the address asked for", "N": "the account with the number",
    ]

    private static func spelledOut(_ text: String) -> String {
        var result = ""
        var word = ""
        for character in text + " " {
            if character.isLetter || character.isNumber {
                word.append(character)
                continue
            }
            if word.count == 1, let letter = word.first, let name = letters[letter] {
                // "F's own" and "F" alike.
                result += name
            } else {
                result += word
            }
            result.append(character)
            word = ""
        }
        return String(result.dropLast())
    }
}

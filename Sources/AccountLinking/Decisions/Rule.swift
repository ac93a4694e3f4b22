/// A row of the decision tables: the reason of a decision.
///
/// People read the name. Concord stores the raw value and sends it as `Concord-Decision`. A raw value is stable, is
/// never reused, and gives no order. docs/reference/decisions.md is generated from the cases in this order. The first
/// rule of a table that matches wins.
package enum Rule: String, Sendable, Hashable, CaseIterable {
    // Sign-in with a provider (`SignInWithIdpQuestion`).
    case signInProviderNotEnabled = "I0"
    case identityOwnerDisabled = "I1"
    case identityOwnerNeedsSecondFactor = "I3"
    case signInByIdentity = "I2"
    case reauthenticationByUntrustedEmail = "I12"
    case reauthenticationOfUnknownIdentity = "I6"
    case untrustedEmailConfirmed = "I22"
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
    case firstSignInAsks = "I23"
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

    // Requests for mailed codes (`decideFindMailedAccount`, `decideSendPasswordReset`, `decideSendEmailChange`).
    case mailedCodeUnknownAccount = "M13"
    case mailedCodeWithoutEmail = "M14"
    case resetOfUnknownEmail = "M15"
    case mailedChangeNeedsRecentSignIn = "M16"
    case mailedChangeEmailExists = "M17"
    case mailedCodeWithheld = "M18"
    case mailedCodeSent = "M19"

    // Use of mailed codes (`decideUseEmailCode`, `refusalOfSignInLink`).
    case emailCodeUnknown = "M20"
    case emailCodeUsed = "M21"
    case emailCodeExpired = "M22"
    case emailCodeLocked = "M23"
    case signInLinkWrongAddress = "M24"
    case signInLinkOfOtherMailbox = "M25"

    // Short codes (`decideGuessShortCode`, `refusalOfShortCode`).
    case tooManyShortCodeGuesses = "M26"
    case shortCodeLocked = "M27"
    case shortCodeWrong = "M28"
    case shortCodeLinkUnusable = "M29"
    case shortCodeExchanged = "M30"

    // Lookups by proof (`decideProveLookUp`, `refusalOfLookUpProof`).
    case lookUpAccountGone = "M31"
    case lookUpProven = "M32"
    case lookUpProofExpired = "M33"
    case lookUpProofStale = "M34"

    // Mails after a wrong door (`decideMailRightDoor`).
    case wrongDoorOfUnknownAddress = "M35"
    case wrongDoorOpens = "M36"
    case rightDoorMailed = "M37"

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
    case signUpNeedsMailbox = "P19"
    case anonymousSignUp = "P13"
    case signUpEmailOfProviderAccount = "P6"
    case signUpEmailOfBareAccount = "P7"
    case signUpEmailExists = "P1"
    case signUpDuplicateEmailsAllowed = "P5"
    case signUpByPassword = "P11"
    case passwordLinkAccountDisabled = "P15"
    case passwordLinkNeedsRecentSignIn = "P16"
    case passwordLinkNeedsMailbox = "P20"
    case passwordLinkEmailInUse = "P3"
    case passwordAddedToOwnEmail = "P2"
    case passwordLinkNeedsVerifiedEmail = "P17"
    case passwordNeedsProvenAddress = "P18"
    case emailAndPasswordLinked = "P4"
    case adminCreateIdentifierTaken = "P8"
    case accountCreatedByAdmin = "P12"

    // Sign-ups that wait for their mailbox (`decideMailSignUp`, `decideProveSignUp`, `refusalOfContinuing`,
    // `decideDeclineSignUp`, `CompleteSignUpQuestion`, `LinkConfirmedQuestion`).
    case signUpMailsOwner = "P22"
    case signUpMailed = "P21"
    case pendingSignUpUnusable = "P23"
    case pendingSignUpLocked = "P24"
    case pendingSignUpWrongAnswer = "P25"
    case pendingSignUpProven = "P26"
    case pendingSignUpUnproven = "P27"
    case pendingSignUpDeclined = "P36"
    case provenSignUpNotEnabled = "P34"
    case provenSignUpOfTakenIdentity = "P28"
    case provenSignUpOfTakenAddress = "P29"
    case provenSignUpNotAllowed = "P35"
    case signUpByProvenMailbox = "P30"
    case signUpByConfirmedCredential = "P31"
    case confirmedCredentialWithoutAccount = "P33"
    case confirmedCredentialConflict = "P32"

    // Sign-in with a password (`SignInWithPasswordQuestion`).
    case passwordSignInNotEnabled = "S1"
    case passwordSignInUnknownEmail = "S2"
    case passwordSignInAccountDisabled = "S3"
    case wrongPassword = "S4"
    case passwordOfDisabledAccount = "S8"
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

    // Validity of tokens (`decideAccess`, `decideRefresh`, `decideEndSessions`).
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

    // Use of a pending credential (`decidePendingCredential`).
    case pendingUnknown = "Y1"
    case pendingUsed = "Y2"
    case pendingExpired = "Y3"
    case pendingOfOtherTenant = "Y4"
    case pendingOfOtherAccount = "Y5"
    case pendingIssuerChanged = "Y7"
    case pendingUsable = "Y6"

    // Proving a conflict (`decideProveConflict`, `decideStartProof`, `decideProveBySession`, `decideProveByLookUp`).
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
    case proofByLookUpOfOtherAccount = "Q17"
    case provenByLookUp = "Q18"

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

    // Handing the session over (`decideIssueSessionCode`, `decideIssueSignInCode`, `decideExchangeSessionCode`).
    case sessionCodeNotOffered = "T11"
    case sessionCodeGiven = "T12"
    case sessionCodePageNotAuthorized = "T13"
    case sessionCodeIssued = "T14"
    case sessionCodeUnknown = "T15"
    case sessionCodeReplayed = "T16"
    case sessionCodeUsed = "T17"
    case sessionCodeExpired = "T18"
    case sessionCodeLocked = "T19"
    case sessionCodeWrongVerifier = "T20"
    case sessionCodeAccountDisabled = "T21"
    case sessionCodeSessionEnded = "T22"
    case sessionCodeExchanged = "T23"

    // Merging accounts (`decideMergeAccounts`, `decideMergeApproval`, `decideUndoMerge`, `decideUndoMergeByOwner`).
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
    case ownerUndoNotSurvivor = "H11"
    case ownerUndoByAdministrator = "H12"
    case undoNotCommitted = "H7"
    case undoTooLate = "H8"
    case undoLaterChanges = "H9"
    case ownerUndoNeedsRecentSignIn = "H13"
    case ownerUndoNeedsSecondFactor = "H14"
    case mergeUndone = "H10"
}

extension Rule {
    /// The name of the case, such as `takeoverByProvider`.
    package var name: String { String(describing: self) }

    /// The name with the code, such as `takeoverByProvider (I9)`.
    package var title: String { "\(name) (\(rawValue))" }

    /// The condition and the outcome. docs/reference/decisions.md defines the letters, which stand for accounts.
    package var text: RuleText {
        switch self {
        // Sign-in with a provider.
        case .signInProviderNotEnabled:
            RuleText("the provider is disabled, or has a new issuer", "refused: operation not allowed")
        case .identityOwnerDisabled: RuleText("F is disabled", "refused: user disabled")
        case .identityOwnerNeedsSecondFactor: RuleText("F needs its second factor", "second factor required")
        case .signInByIdentity:
            RuleText(
                "F exists",
                "F is signed in, even if M is another account; a trusted provider proves the account's own address"
            )
        case .reauthenticationByUntrustedEmail:
            RuleText("reauthentication; M exists, untrusted", "refused: user not found; never a conflict")
        case .reauthenticationOfUnknownIdentity: RuleText("reauthentication", "refused: user not found")
        case .untrustedEmailConfirmed:
            RuleText(
                "the address is untrusted, and the project confirms such addresses, whether or not M exists",
                "conflict: the address must be confirmed; no account is named"
            )
        case .untrustedEmailConflict:
            RuleText(
                "M exists, untrusted",
                "conflict: account exists with different credential, with the providers of M"
            )
        case .emailOwnerDisabled: RuleText("M is disabled", "refused: user disabled")
        case .emailOwnerNeedsSecondFactor: RuleText("M needs its second factor", "second factor required")
        case .takeoverByProvider:
            RuleText("M is not proven", "takeover: the identity is linked, its profile replaces the old one")
        case .takeoverFromFormerHolder:
            RuleText("only a word for new addresses (verifying-new) proves M", "takeover, as I9")
        case .subjectDiffers:
            RuleText(
                "M has another subject of this provider, policy `conflict`",
                "conflict: account exists with different credential; a session of M settles it"
            )
        case .takeoverBySubject:
            RuleText("M has another subject of this provider, policy `takeover`", "takeover, as I9")
        case .subjectMoved:
            RuleText("M has another subject of this provider, policy `move`", "as I8, for a planned migration")
        case .subjectReplaced:
            RuleText(
                "M has another subject of this provider, policy `replace`",
                "M is signed in, the new subject replaces the old; the answer says that the address was recycled"
            )
        case .linkByProvenEmail:
            RuleText("M exists", "M is signed in; the identity is linked and fills blanks in the profile")
        case .providerSignUpNotAllowed: RuleText("clients may not sign up", "refused: admin only")
        case .firstSignInAsks:
            RuleText(
                "the client asks before an account is created, and the address is not reserved (U16)",
                "nothing is created; the client gets the credential sealed, to create an account or to link it"
            )
        case .signUpWithoutEmail: RuleText("no address", "new account without address")
        case .signUpWithDuplicateEmail:
            RuleText("duplicate addresses are allowed", "new account; only its provider row has the address")
        case .signUpWithEmail: RuleText("otherwise", "new account with the address, proven if trusted")
        // Linking a provider.
        case .linkProviderNotEnabled:
            RuleText("the provider is disabled, or has a new issuer", "refused: operation not allowed")
        case .linkAccountDisabled: RuleText("T is disabled", "refused: user disabled")
        case .linkNeedsRecentSignIn:
            RuleText("policy requires a recent sign-in, the session is old", "refused: sign in again")
        case .linkIdentityAlreadyLinked: RuleText("F is T", "refused: already linked; no pending credential")
        case .linkIdentityInUse: RuleText("F is another account", "conflict: credential already in use by F")
        case .linkEmailInUse:
            RuleText(
                "one account per address; M is another account; the project does not confirm the address (I22)",
                "conflict: address already in use by M"
            )
        case .linkOfSecondSubject:
            RuleText("T has another subject of this provider", "conflict: credential already in use by T")
        case .subjectReplacedByOwner:
            RuleText(
                """
                T has another subject of this provider, and the credential waits in a conflict that a sign-in opened \
                about T
                """,
                "the new subject replaces the old; the profile stays"
            )
        case .linkNeedsSecondFactor:
            RuleText("T needs its second factor, and the session lacks it", "second factor required")
        case .anonymousUpgradedByProvider:
            RuleText("T is anonymous", "as L4 or L5; T becomes permanent and keeps its id")
        case .providerLinked:
            RuleText(
                "one account per address",
                """
                linked; the profile stays. A trusted provider proves the account's own address. An account without \
                address gets the provider's; if it had one before or (by policy) has a second factor, only a trusted \
                one
                """
            )
        case .providerLinkedDuplicateEmails: RuleText("duplicate addresses are allowed", "as L4, but T gets no address")
        // E-mail link.
        case .emailLinkNotEnabled: RuleText("the method is disabled", "refused: operation not allowed")
        case .emailLinkAccountDisabled: RuleText("O or T is disabled", "refused: user disabled")
        case .mailedLinkNeedsRecentSignIn:
            RuleText(
                "policy requires a recent sign-in, T is not anonymous and not O, the session is old",
                "refused: sign in again"
            )
        case .emailLinkAddressInUse: RuleText("T exists, O is another account", "refused: address exists")
        case .emailLinkNeedsSecondFactor: RuleText("the account needs its second factor", "second factor required")
        case .anonymousUpgradedByEmailLink: RuleText("T is anonymous, O does not exist", "T gets the address, proven")
        case .emailLinkReplacementNeedsRecentSignIn:
            RuleText("T has or had another address, O does not exist, the session is old", "refused: sign in again")
        case .emailSetByEmailLink:
            RuleText(
                "T exists",
                """
                the address is set or proven on T; replacing one stores and mails the first address and ends other \
                sessions
                """
            )
        case .mailedLinkFromFormerHolder:
            RuleText("only a word for new addresses (verifying-new) proves O", "takeover, as M3")
        case .signInByEmailLink: RuleText("O is proven", "O is signed in")
        case .takeoverByEmailLink: RuleText("O is not proven", "takeover by the link")
        case .emailLinkSignUpNotAllowed: RuleText("clients may not sign up", "refused: admin only")
        case .signUpByEmailLink: RuleText("otherwise", "new account with the address, proven")
        // Mailed codes.
        case .mailedCodeUnknownAccount:
            RuleText("by administrator, no account has the address", "refused: user not found")
        case .mailedCodeWithoutEmail: RuleText("the account has no address", "refused: missing address")
        case .resetOfUnknownEmail:
            RuleText(
                "a password reset, no account has the address, no enumeration protection",
                "refused: address not found"
            )
        case .mailedChangeNeedsRecentSignIn:
            RuleText("a change of address, the session is old", "refused: sign in again")
        case .mailedChangeEmailExists:
            RuleText(
                """
                a change of address, another account has the new address or its reservation; no enumeration \
                protection, or by administrator
                """,
                "refused: address exists"
            )
        case .mailedCodeWithheld:
            RuleText(
                "as M15 or M17, with enumeration protection",
                "answered as M19; the code is void and not mailed; the account that has the new address is warned"
            )
        case .mailedCodeSent: RuleText("otherwise", "a code is mailed, within limits")
        case .emailCodeUnknown: RuleText("no such code, or one for another purpose", "refused: invalid code")
        case .emailCodeUsed: RuleText("used or void", "refused: invalid code")
        case .emailCodeExpired: RuleText("expired", "refused: expired code")
        case .emailCodeLocked: RuleText("five wrong addresses", "refused: too many attempts")
        case .signInLinkWrongAddress:
            RuleText("a sign-in link, mailed to another address than the client names", "counted, and refused")
        case .signInLinkOfOtherMailbox:
            RuleText(
                "a sign-in link, mailed to another spelling of the account's address, perhaps another mailbox",
                "refused: invalid code; it stays usable"
            )
        case .tooManyShortCodeGuesses:
            RuleText(
                "the mailbox, the caller or the project has used up its guesses",
                "refused: too many attempts; not counted"
            )
        case .shortCodeLocked:
            RuleText("five wrong guesses since the newest mail", "refused: too many attempts, even the right code")
        case .shortCodeWrong: RuleText("not the code of the newest mail, or no mail", "counted, and refused")
        case .shortCodeLinkUnusable:
            RuleText("the right code, its mail's link cannot be used", "refused: invalid code")
        case .shortCodeExchanged: RuleText("otherwise", "a new code replaces it and the link of its mail")
        // Lookups by proof.
        case .lookUpAccountGone:
            RuleText("the account that had the address does not have it now", "refused: invalid code")
        case .lookUpProven:
            RuleText("otherwise", "the sign-in methods are shown, with a proof for 10 minutes; the code stays usable")
        case .lookUpProofExpired: RuleText("the proof's 10 minutes are over", "refused: proof expired")
        case .lookUpProofStale: RuleText("account, address or configuration has changed", "refused: proof stale")
        // Mails after a wrong door.
        case .wrongDoorOfUnknownAddress: RuleText("no account has the address", "nothing is mailed")
        case .wrongDoorOpens: RuleText("the account can sign in by this method", "nothing is mailed")
        case .rightDoorMailed: RuleText("otherwise", "the owner is mailed the methods that work, with a lookup's code")
        // Telephone number.
        case .phoneNotEnabled: RuleText("the method is disabled", "refused: operation not allowed")
        case .phoneAccountDisabled: RuleText("T is disabled, or N if there is no session", "refused: user disabled")
        case .reauthenticationOfUnknownNumber:
            RuleText("reauthentication; the number belongs to no account, or not to T", "refused: user not found")
        case .numberNeedsRecentSignIn:
            RuleText("policy requires a recent sign-in, T is not N, the session is old", "refused: sign in again")
        case .phoneInUse:
            RuleText(
                "T exists, N is another account, by code",
                "refused: number exists; the code is used up, a temporary proof replaces it"
            )
        case .phoneInUseTemporaryProof:
            RuleText(
                "T exists, N is another account, by temporary proof",
                "refused: number exists; the proof stays valid"
            )
        case .phoneRefusedWithSecondFactor:
            RuleText("the account has a second factor", "refused: unsupported first factor")
        case .phoneAlreadyLinked: RuleText("N is T", "T is signed in")
        case .anonymousUpgradedByPhone:
            RuleText("T is anonymous", "T gets the number, becomes permanent and keeps its id")
        case .phoneLinked: RuleText("T exists", "T gets the number; a replaced one is free again; sessions stay")
        case .signInByPhoneCode: RuleText("N exists, by code", "N is signed in")
        case .signInByTemporaryProof: RuleText("N exists, by temporary proof", "N is signed in")
        case .phoneSignUpNotAllowed: RuleText("clients may not sign up", "refused: admin only")
        case .signUpByPhone: RuleText("otherwise", "new account with the number")
        case .phoneRegionNotAllowed:
            RuleText("`smsRegionConfig` excludes the number's region", "refused: operation not allowed")
        case .phoneCodeSent: RuleText("otherwise", "a code is sent, within limits")
        // Sign-up, first password, creation.
        case .anonymousSignUpNotEnabled: RuleText("anonymous, and that is disabled", "refused: admin only")
        case .signUpPasswordNotEnabled: RuleText("password, and that is disabled", "refused: operation not allowed")
        case .signUpNotAllowed: RuleText("a new account, and clients may not sign up", "refused: admin only")
        case .signUpNeedsMailbox:
            RuleText("the project requires the mailbox first", "refused: confirm the address; a mail is sent")
        case .anonymousSignUp: RuleText("anonymous", "new anonymous account")
        case .signUpEmailOfProviderAccount:
            RuleText(
                "the address belongs to an account with providers and no password or link",
                "refused: address exists"
            )
        case .signUpEmailOfBareAccount:
            RuleText("the address belongs to an account without any method", "refused: address exists")
        case .signUpEmailExists:
            RuleText(
                "the address belongs to another account",
                "refused: address exists, even with enumeration protection"
            )
        case .signUpDuplicateEmailsAllowed:
            RuleText(
                "free address, duplicate addresses are allowed",
                "new account, even if a provider row has the address"
            )
        case .signUpByPassword: RuleText("free address", "new account, address not proven")
        case .passwordLinkAccountDisabled: RuleText("T is disabled", "refused: user disabled")
        case .passwordLinkNeedsRecentSignIn: RuleText("the session is old", "refused: sign in again")
        case .passwordLinkNeedsMailbox:
            RuleText(
                "the project requires the mailbox first, and the address is not T's own",
                "refused: confirm the address; a mail is sent"
            )
        case .passwordLinkEmailInUse:
            RuleText("T exists, the address belongs to another account", "refused: address exists")
        case .passwordAddedToOwnEmail:
            RuleText(
                "T exists, the address is its own",
                "T gets the password; the proof of its address does not change; other sessions end"
            )
        case .passwordLinkNeedsVerifiedEmail:
            RuleText(
                "T has or had another address; free address, enumeration protection",
                "refused: verify the new address first, as U1"
            )
        case .passwordNeedsProvenAddress:
            RuleText("T has a second factor, free address; policy requires a proven one", "refused: unverified address")
        case .emailAndPasswordLinked:
            RuleText(
                "T exists, free address",
                """
                T gets the address, not proven, and the password; the first address is stored and mailed; other \
                sessions end
                """
            )
        case .adminCreateIdentifierTaken:
            RuleText(
                "by administrator, the id, number or address is taken",
                "refused: duplicate id, number exists, address exists, in this order"
            )
        case .accountCreatedByAdmin:
            RuleText("by administrator, otherwise", "created, regardless of policy for clients")
        // Sign-ups that wait for their mailbox.
        case .signUpMailsOwner:
            RuleText("a sign-up needs the mailbox; the address belongs to an account", "the account's owner is mailed")
        case .signUpMailed:
            RuleText("a sign-up needs the mailbox; free address", "the mailbox gets the link that continues")
        case .pendingSignUpUnusable:
            RuleText(
                "the pending sign-up is unknown, used or expired, or belongs to another tenant",
                "refused: unknown"
            )
        case .pendingSignUpLocked:
            RuleText("by code, after 5 codes, or a limit on guesses is reached", "refused: too many attempts")
        case .pendingSignUpWrongAnswer: RuleText("the code or secret is wrong", "refused: wrong proof")
        case .pendingSignUpProven: RuleText("the code or secret is right", "the mailbox is proven")
        case .pendingSignUpUnproven:
            RuleText("to continue, without the token of the proof", "refused: proof required")
        case .pendingSignUpDeclined: RuleText("the handle's holder declines", "declined: nothing continues it")
        case .provenSignUpOfTakenIdentity:
            RuleText("proven; the identity belongs to an account", "refused: identity already linked")
        case .provenSignUpOfTakenAddress:
            RuleText("proven; the address belongs to an account", "refused: address exists")
        case .provenSignUpNotEnabled:
            RuleText("proven; passwords or the provider are disabled", "refused: operation not allowed")
        case .provenSignUpNotAllowed: RuleText("proven; clients may not sign up", "refused: admin only")
        case .signUpByProvenMailbox: RuleText("proven, with a password", "new account, address proven")
        case .signUpByConfirmedCredential:
            RuleText("proven, with a provider's credential", "new account with the identity, address proven")
        case .confirmedCredentialWithoutAccount:
            RuleText("to link a proven credential; the address is free", "refused: unknown account")
        case .confirmedCredentialConflict:
            RuleText(
                "to link a proven credential; the address belongs to an account",
                "the credential becomes a conflict of the account, which the mailbox has proven"
            )
        // Sign-in with a password.
        case .passwordSignInNotEnabled: RuleText("the method is disabled", "refused: operation not allowed")
        case .passwordSignInUnknownEmail:
            RuleText(
                "O does not exist",
                "refused: address not found; with enumeration protection: invalid login credentials"
            )
        case .passwordSignInAccountDisabled:
            RuleText(
                "O is disabled, and the preset is `firebase` or addresses are not protected",
                "refused: user disabled"
            )
        case .wrongPassword:
            RuleText(
                "O has no password, or another",
                "refused: invalid password; with enumeration protection: invalid login credentials"
            )
        case .passwordOfDisabledAccount: RuleText("O is disabled, the password is right", "refused: user disabled")
        case .passwordSignInNeedsSecondFactor:
            RuleText(
                "O needs its second factor",
                "second factor required; if a new password replaces the presented one: refused, sign in again"
            )
        case .signInByPassword: RuleText("otherwise", "O is signed in")
        case .tooManyWrongPasswords:
            RuleText(
                "too many wrong passwords for the address (before S4; with enumeration protection before S2)",
                "refused: too many attempts"
            )
        // Sign-in with a custom token.
        case .customTokenAccountMerged:
            RuleText("the account with the uid was merged into another", "refused: user merged")
        case .signUpByCustomToken: RuleText("no account has the uid", "new account with the uid; no address is matched")
        case .customTokenAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .signInByCustomToken: RuleText("otherwise", "signed in without second factor: the backend vouches")
        // Password reset.
        case .resetPasswordNotEnabled: RuleText("passwords are disabled", "refused: operation not allowed")
        case .resetCodeStale:
            RuleText("the account is gone, or has another address than the code's", "refused: invalid code")
        case .resetAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .passwordReset: RuleText("no provider, no number", "password set, address proven, sessions end")
        case .resetKeepsProviders:
            RuleText("already proven, `concord.passwordReset.unlinksProviders` off", "as R1; providers and number stay")
        case .resetReleasesNumber:
            RuleText("a number, no provider", "as R1; the number stays as unproven data, free for others")
        case .resetUnlinksProviders: RuleText("providers and a password", "as R4; every provider is unlinked")
        case .resetSetsFirstPassword: RuleText("providers, no password", "as R2")
        // Changing the address.
        case .changeEmailAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .changeEmailNeedsVerification:
            RuleText(
                "by client, enumeration protection, or the project requires the mailbox first",
                "refused: verify the new address first"
            )
        case .emailUnchanged: RuleText("by client, the current address", "nothing changes")
        case .changeEmailNeedsRecentSignIn: RuleText("by client, the session is old", "refused: sign in again")
        case .secondFactorNeedsProvenAddress:
            RuleText(
                "by client, the account has a second factor; policy requires a proven address",
                "refused: unverified address"
            )
        case .changeEmailExists: RuleText("by client, O is another account", "refused: address exists")
        case .changeEmailExistsDuplicatesAllowed:
            RuleText(
                "by client, O is another account, duplicate addresses are allowed",
                "refused: address exists; top-level addresses are always unique"
            )
        case .emailAdded: RuleText("by client, no address yet", "set, not proven; sessions end, new tokens")
        case .emailChanged:
            RuleText("by client, otherwise", "set, not proven; the first address is stored; sessions end, new tokens")
        case .emailCodeAccountDisabled: RuleText("by code: the account is disabled", "refused: user disabled")
        case .emailCodeStale:
            RuleText(
                "by code: the account is gone, or its address or session epoch has changed since",
                "refused: invalid code"
            )
        case .changeCodeEmailExists:
            RuleText("by code, new address: O is another account", "refused: address exists; the code is used up")
        case .emailChangedByCode:
            RuleText(
                "by code, new address: otherwise",
                "set, proven; the first address is stored; sessions end, no tokens"
            )
        case .recoveryOfStrangersAccount:
            RuleText(
                "by code, former address: never proven, and the account needs its second factor",
                "refused: invalid code; the next account to prove the address gets it"
            )
        case .decoyGivesWay:
            RuleText(
                "by code, former address: O is another account, younger than the code, not verified",
                "as U14, U28 or U29; O loses the address"
            )
        case .recoveryEmailExists:
            RuleText("by code, former address: O is another account", "refused: address exists; the code stays usable")
        case .recoverySuspendsAdditions:
            RuleText(
                "by code, former address: proven before, and methods or second factors were added since the code",
                "as U14; those methods are suspended, those second factors removed"
            )
        case .takeoverByRecovery:
            RuleText(
                "by code, former address: never proven, before or since",
                "takeover, as M3, with the address set; sessions end, no tokens"
            )
        case .emailRecovered: RuleText("by code, former address: otherwise", "set, proven; sessions end, no tokens")
        case .addressReserved:
            RuleText("another account would get a reserved address, in any decision", "refused: address exists")
        // Undoing a change of sign-in methods.
        case .revertOfLostAccount:
            RuleText("the account is gone, or was created again since the code", "refused: invalid code")
        case .revertOfDisabledAccount: RuleText("the account is disabled", "refused: user disabled")
        case .revertSettled:
            RuleText(
                "a reset by this mailbox, an administrator or an earlier code has settled every method since",
                "refused: invalid code"
            )
        case .revertInPart:
            RuleText("another account owns a number or an identity to restore", "as U23, without that method")
        case .revertOfNothing: RuleText("every method is as before the change", "every session ends")
        case .methodsReverted:
            RuleText("otherwise", "the methods are as before the change; every session ends, no tokens")
        // Verifying the address.
        case .verifyCodeStale:
            RuleText("the account is gone, or has another address than the code's", "refused: invalid code")
        case .verifyAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .emailAlreadyVerified:
            RuleText(
                "confirmed, already proven (a word for new addresses suffices, unless the requesting session confirms)",
                "nothing changes"
            )
        case .emailVerified: RuleText("confirmed, `firstProofEndsSessions` off", "proven; sessions stay")
        case .firstProofBySession: RuleText("confirmed by the session that requested the code", "proven; sessions stay")
        case .firstProofElsewhere:
            RuleText("confirmed otherwise", "proven; sessions end; another session that confirms gets new tokens")
        case .disownedTooLate: RuleText("disowned, already proven", "refused: invalid code")
        case .disownedBehindFactor:
            RuleText(
                "disowned, the account needs its second factor",
                """
                the account loses the address; its password is suspended, sessions end, codes and open conflicts are \
                void
                """
            )
        case .disowned: RuleText("disowned", "takeover, as M3, proven by the code; no tokens")
        // Changing the password.
        case .changePasswordNotEnabled: RuleText("passwords are disabled", "refused: operation not allowed")
        case .changePasswordAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .changePasswordNeedsRecentSignIn: RuleText("the session is old", "refused: sign in again")
        case .passwordChanged: RuleText("otherwise", "set; sessions end, new tokens")
        // Unlinking.
        case .unlinkAccountDisabled: RuleText("by client, the account is disabled", "refused: user disabled")
        case .nothingToUnlink: RuleText("the account lacks what the request removes", "nothing changes")
        case .emailRemovalNeedsRecentSignIn:
            RuleText("by client, the address would go, the session is old", "refused: sign in again")
        case .lastMethodKept:
            RuleText(
                "by client, a method would go and no working one be left; on Concord's routes, or by policy",
                "refused: last sign-in method"
            )
        case .removalNeedsRecentSignIn: RuleText("on Concord's routes, the session is old", "refused: sign in again")
        case .unlinkNeedsRecentSignIn:
            RuleText(
                "by client, a working method would go, policy requires a recent sign-in, the session is old",
                "refused: sign in again"
            )
        case .methodUnlinked:
            RuleText(
                "otherwise",
                """
                removed; sessions stay; without its password the account keeps its address; an address that the client \
                removes is stored and mailed
                """
            )
        // Quarantine.
        case .quarantineAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .notQuarantined:
            RuleText(
                "no such method is suspended, it expired, or the account has it",
                "refused: method not quarantined"
            )
        case .restorePasswordNotAllowed:
            RuleText("passwords are disabled, or the account has no address", "refused: operation not allowed")
        case .restoreNeedsRecentSignIn: RuleText("the session is old", "refused: sign in again")
        case .restoreTooManyWrongPasswords:
            RuleText("too many wrong passwords for the address", "refused: too many attempts")
        case .restoreWrongPassword: RuleText("wrong password", "refused: invalid password; it counts as at a sign-in")
        case .quarantinedPasswordRestored: RuleText("otherwise", "the password works again; sessions stay")
        case .quarantinedMethodDiscarded:
            RuleText("the owner discards a suspended method, after B1, B2 and B4", "deleted")
        // Editing the profile.
        case .editProfileAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .profileUnchanged: RuleText("same name and picture", "nothing changes")
        case .profileEdited: RuleText("otherwise", "the profile is replaced; sessions stay")
        // Deleting.
        case .deleteUnknownAccount: RuleText("no such account", "refused: user not found")
        case .deleteAccountDisabled: RuleText("by client, the account is disabled", "refused: user disabled")
        case .deleteNeedsRecentSignIn: RuleText("by client, the session is old", "refused: sign in again")
        case .deleteNotAllowed: RuleText("by client, clients may not delete", "refused: admin only")
        case .accountDeleted: RuleText("otherwise", "deleted; every identifier is free")
        // Updates by an administrator.
        case .adminUpdateUnknownAccount: RuleText("no such account", "refused: user not found")
        case .adminUpdateEmailExists: RuleText("the address belongs to another account", "refused: address exists")
        case .adminUpdatePhoneExists: RuleText("the number belongs to another account", "refused: number exists")
        case .adminUpdateIdentityInUse: RuleText("the identity belongs to another account", "refused: already linked")
        case .adminUpdateUnchanged: RuleText("same values", "nothing changes")
        case .accountUpdatedByAdmin:
            RuleText(
                "otherwise",
                """
                changed; a new address is not proven by default; a new address or password, disabling and revoking end \
                sessions
                """
            )
        // Imports.
        case .importUnreadable:
            RuleText(
                "the row is invalid: no id, a malformed address, a hash of another algorithm",
                "left out, with the reason"
            )
        case .importDuplicateRow: RuleText("an earlier row has the same id", "left out")
        case .importFactorsNeedProvenEmail: RuleText("second factors without a proven address", "left out")
        case .importIdentityInUse: RuleText("an identity belongs to another account", "left out")
        case .importPhoneInUse: RuleText("the number belongs to another account", "left out")
        case .importEmailInUse: RuleText("the address belongs to another account", "left out")
        case .importUnchanged: RuleText("the account exists and equals the row", "nothing changes")
        case .importNotOverwritten: RuleText("the account exists, overwriting is off", "left out")
        case .importOverwrites:
            RuleText("the account exists", "the row replaces it, absent fields included; every session ends")
        case .importAccountMerged: RuleText("the account with the id was merged into another", "left out")
        case .importCreates: RuleText("otherwise", "created")
        // Repairs.
        case .repairAccountGone: RuleText("the account of the repair is gone", "left out")
        case .repairOrphanReclaimed: RuleText("rows without an account have one now", "left out")
        case .repairAccountChanged:
            RuleText("the account has changed since the plan, not by the plan", "left out; plan again")
        case .repairNotApplicable: RuleText("another account owns the claim now, or the defect is gone", "left out")
        case .repairWouldRemoveLastMethod: RuleText("the repair would remove the last working method", "left out")
        case .repairApplied: RuleText("otherwise", "applied and journaled")
        case .repairUndoClashes:
            RuleText("undo, and the repaired data has changed since", "kept; the clash is reported")
        case .repairUndone: RuleText("undo", "restored, except sessions, codes and conflicts")
        // Second factors.
        case .enrollFactorNotEnabled:
            RuleText("the project (`mfa`) does not allow this factor", "refused: operation not allowed")
        case .enrollAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .enrollUnsupportedFirstFactor:
            RuleText(
                "the session is anonymous, or by number, custom token or Game Center",
                "refused: unsupported first factor"
            )
        case .enrollNeedsProvenEmail:
            RuleText("the address is not proven, or only by a word for new addresses", "refused: unverified e-mail")
        case .enrollNeedsSecondFactor:
            RuleText("the account needs its second factor, and the session lacks it", "refused: sign in again")
        case .enrollNeedsRecentSignIn: RuleText("the session is old", "refused: sign in again")
        case .factorAlreadyEnrolled:
            RuleText("the number is already a second factor of the account", "refused: second factor exists")
        case .tooManyFactors: RuleText("the account has five", "refused: second factor limit")
        case .factorEnrolled:
            RuleText(
                "otherwise",
                """
                enrolled; the address is mailed a code to undo it; every other session ends, the returned one carries \
                the factor
                """
            )
        case .withdrawUnknownFactor: RuleText("the account has no such factor", "refused: not found")
        case .factorWithdrawn: RuleText("otherwise", "withdrawn; every other session ends")
        case .replaceFactorsNeedsProvenEmail:
            RuleText("the account would have some, and its address is not proven", "refused: unverified e-mail")
        case .replaceTooManyFactors: RuleText("more than five", "refused: second factor limit")
        case .factorsReplaced: RuleText("otherwise", "replaced; sessions end unless only names changed")
        case .revertFactorCodeStale:
            RuleText("the account, factor or address is gone or different", "refused: invalid code")
        case .revertFactorAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .factorReverted: RuleText("otherwise", "the factor is removed; every session ends")
        case .factorRegionNotAllowed:
            RuleText("`smsRegionConfig` excludes the number's region", "refused: operation not allowed")
        case .factorCodeSent: RuleText("otherwise", "a code is sent, within limits")
        case .pendingSignInAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .pendingSignInStale:
            RuleText(
                """
                the account is gone, its sessions or the linking session ended, or another account owns the first \
                factor now
                """,
                "refused: invalid pending credential"
            )
        case .pendingSignInContinued:
            RuleText(
                "otherwise",
                "the code is checked; the first factor is decided again with the second proven, and applied"
            )
        // Validity of tokens.
        case .tokenAccountGone: RuleText("ID token: the account is gone", "refused: user not found")
        case .tokenAccountDisabled: RuleText("ID token: the account is disabled", "refused: user disabled")
        case .tokenEpochStale: RuleText("ID token: another session epoch", "refused: token expired")
        case .tokenIssuedBeforeValidSince:
            RuleText("ID token: issued in a second before `validSince`", "refused: token expired")
        case .tokenAccepted: RuleText("ID token: otherwise", "accepted")
        case .refreshAccountGone: RuleText("refresh token: the account is gone", "refused: user not found")
        case .refreshAccountDisabled: RuleText("refresh token: the account is disabled", "refused: user disabled")
        case .refreshSessionGone:
            RuleText("refresh token: the session is gone or of another epoch", "refused: token expired")
        case .refreshBeforeValidSince:
            RuleText("refresh token: started in a second before `validSince`", "refused: token expired")
        case .refreshAccepted: RuleText("refresh token: otherwise", "accepted")
        case .sessionEnded: RuleText("ID token: its session has ended", "refused: token expired")
        case .sessionUnused:
            RuleText(
                "ID or refresh token: the session was unused for `concord.sessions.inactivitySeconds`",
                "refused: token expired"
            )
        case .sessionTooOld:
            RuleText(
                "ID or refresh token: the session is `concord.sessions.absoluteSeconds` old",
                "refused: token expired"
            )
        case .sessionsEndedAlready: RuleText("ending sessions: there are none", "nothing changes")
        case .sessionsEndedByRequest:
            RuleText(
                "ending sessions: otherwise",
                """
                they end; if all end, every ID token is revoked. A user's request voids open conflicts and mailed \
                codes, except codes that undo a change; if a session ends itself, only codes that change the address
                """
            )
        // Use of a pending credential.
        case .pendingUnknown: RuleText("unknown handle", "invalid")
        case .pendingUsed: RuleText("used or void", "invalid")
        case .pendingExpired: RuleText("expired", "invalid")
        case .pendingOfOtherTenant: RuleText("of another tenant", "invalid")
        case .pendingOfOtherAccount: RuleText("the session's account is not the conflict's", "invalid")
        case .pendingIssuerChanged: RuleText("its provider has a new issuer", "invalid")
        case .pendingUsable: RuleText("otherwise, with or without a session", "usable; only success closes it")
        // Proving a conflict.
        case .conflictUnknown: RuleText("unknown handle, or of another tenant", "refused: unknown")
        case .conflictClosed: RuleText("resolved, declined or superseded", "refused: closed")
        case .conflictExpired: RuleText("expired", "refused: expired")
        case .proofByMailNotOffered:
            RuleText(
                "a mail is requested; policy accepts no mail for this credential, on any account",
                "refused: proof not offered"
            )
        case .proofMailsUsedUp: RuleText("a mail is requested; five were sent", "refused: too many attempts")
        case .tooManyProofMails:
            RuleText(
                "a mail is requested; ten were sent about the account within the hour, for any conflict",
                "refused: too many mails"
            )
        case .proofMailed: RuleText("a mail is requested", "a link and a code are mailed; earlier ones are void")
        case .proofNotExpected:
            RuleText("an answer, but no proof was started, or it is already proven", "refused: unproven")
        case .proofExpired: RuleText("the proof's 15 minutes are over", "refused: proof expired")
        case .proofTooManyAnswers: RuleText("five wrong answers", "refused: too many attempts, even the right answer")
        case .proofStale: RuleText("account, address or configuration has changed", "refused: proof stale")
        case .proofAccepted: RuleText("the answer is right", "proven")
        case .proofWrong: RuleText("the answer is wrong", "counted, and refused")
        case .proofBySessionOfOtherAccount: RuleText("a session of another account", "refused: unproven")
        case .proofNeedsRecentSignIn: RuleText("a session whose sign-in is old", "refused: sign in again")
        case .provenBySession: RuleText("a session of the account, from a recent sign-in", "proven")
        case .proofByLookUpOfOtherAccount: RuleText("a lookup of another account", "refused: unproven")
        case .provenByLookUp: RuleText("a lookup proved the account's mailbox", "proven, as by a mail")
        // Settling a conflict.
        case .resolveAccountGone: RuleText("the account is gone", "refused: unknown")
        case .resolveUnproven: RuleText("not proven, or not by the caller", "refused: unproven")
        case .resolveProofExpired: RuleText("the proof has expired", "refused: proof expired")
        case .resolveProofStale: RuleText("account, address or configuration has changed", "refused: proof stale")
        case .resolveProviderNotEnabled:
            RuleText("the provider is disabled, or has a new issuer", "refused: operation not allowed")
        case .resolveAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .resolveNeedsSecondFactor:
            RuleText("the account needs its second factor", "refused: second factor required")
        case .resolveProofNotOffered:
            RuleText(
                "policy does not accept this kind of proof for this provider and the account's methods",
                "refused: proof not offered"
            )
        case .resolveAlreadyLinked:
            RuleText("the identity is the account's already", "signed in; the conflict is resolved")
        case .resolveIdentityInUse: RuleText("the identity belongs to another account", "refused: already linked")
        case .credentialAddressTaken:
            RuleText(
                "one account per address; a third account owns the credential's address",
                "refused: address exists"
            )
        case .takeoverByConflict:
            RuleText("proven by mail, the first proof of the address", "takeover, as M3; linked, signed in")
        case .subjectReplacedAfterProof:
            RuleText(
                "the account has another subject of this provider, proven by a session, policy `conflict`",
                "the new subject replaces the old; signed in"
            )
        case .resolveSecondSubject: RuleText("the account has another subject of this provider", "refused")
        case .credentialLinkedAfterProof: RuleText("otherwise", "linked, as L4; signed in")
        case .conflictDeclined: RuleText("the handle's holder declines", "declined")
        case .declinedByOperator: RuleText("an administrator declines", "declined")
        case .nextSignInLeavesConflict:
            RuleText(
                """
                at the next sign-in, proven by mail: it is the first proof of the address, or the account has another \
                subject of this provider
                """,
                "stays proven for the mailbox's owner (J11), who may be another person"
            )
        // Handing the session over.
        case .sessionCodeNotOffered:
            RuleText(
                "a code is requested; the app sent no challenge, or another session resolved the conflict",
                "refused"
            )
        case .sessionCodeGiven: RuleText("a code is requested; an earlier code has given a session", "refused")
        case .sessionCodePageNotAuthorized:
            RuleText(
                "the project does not authorize the page of the app now",
                "refused, for the request and for the exchange of a code"
            )
        case .sessionCodeIssued:
            RuleText("a code is requested; otherwise", "issued, for 60 seconds; an earlier code becomes void")
        case .sessionCodeUnknown: RuleText("unknown code", "refused")
        case .sessionCodeReplayed:
            RuleText("the code has given a session; right verifier", "refused; the session that it gave ends")
        case .sessionCodeUsed: RuleText("the code has given a session; wrong verifier", "refused")
        case .sessionCodeExpired: RuleText("the code has expired", "refused")
        case .sessionCodeLocked: RuleText("five wrong verifiers", "refused: too many attempts, even the right one")
        case .sessionCodeWrongVerifier: RuleText("wrong verifier", "counted, and refused")
        case .sessionCodeAccountDisabled: RuleText("the account is disabled", "refused: user disabled")
        case .sessionCodeSessionEnded:
            RuleText("the session that requested the code has ended, or its account is gone", "refused")
        case .sessionCodeExchanged:
            RuleText("otherwise", "a session that continues the one that requested the code, which ends")
        // Merging accounts.
        case .mergeSameAccount: RuleText("both are one account", "refused: same account")
        case .mergeAccountGone: RuleText("one of the accounts does not exist", "refused: account not found")
        case .mergeSessionEnded: RuleText("by owners, one of the sessions has ended", "refused: token expired")
        case .mergeAccountDisabled: RuleText("one of the accounts is disabled", "refused: account disabled")
        case .mergeNeedsRecentSignIn: RuleText("by owners, one of the sessions is old", "refused: sign in again")
        case .mergeNeedsSecondFactor:
            RuleText(
                "by owners, an account has a second factor that its session lacks",
                "refused: second factor required"
            )
        case .mergeClaimsNeedAdmin:
            RuleText("by owners, custom attributes would be chosen or lost", "refused: an administrator is needed")
        case .mergeWhileRecoverable:
            RuleText(
                "by owners, a mailed code can still undo changes to the absorbed account",
                "refused: an administrator is needed"
            )
        case .mergeUnknownChoice: RuleText("a choice names a field that neither account has", "refused: unknown choice")
        case .mergeNeedsChoices:
            RuleText(
                "the accounts differ in a field, or one has a password and an unproven address, and no choice is made",
                "the choices to make"
            )
        case .mergeNeedsVerifiedEmail:
            RuleText(
                """
                by owners, enumeration protection: an unproven address, or one with only a word for new addresses, \
                would replace a present or former one
                """,
                "refused: unverified e-mail"
            )
        case .mergeTooManyFactors: RuleText("more than five second factors", "refused: too many second factors")
        case .mergeFactorNameRepeated:
            RuleText("both have a second factor with the same name", "refused: second factor repeated")
        case .mergeFactorsNeedProvenEmail:
            RuleText(
                "second factors without an address proven by more than a word for new addresses",
                "refused: unverified e-mail"
            )
        case .mergeLeavesNoMethod: RuleText("no sign-in method would be left", "refused: no method left")
        case .accountsMerged:
            RuleText(
                "otherwise",
                """
                merged: the survivor has the choices and all that only the absorbed account had. Absorbed sessions \
                end; the survivor's too if its password or second factors change
                """
            )
        case .mergeWithdrawn: RuleText("an operator withdraws", "aborted: withdrawn")
        case .mergeVetoed: RuleText("a receiver refuses", "aborted: vetoed")
        case .mergeAccountsChanged:
            RuleText("an account has changed since receivers were asked", "aborted: accounts changed")
        case .mergeCommitted: RuleText("every receiver agrees", "committed")
        case .mergeTimedOut: RuleText("the time is over", "aborted: timed out")
        case .mergeWaiting: RuleText("otherwise", "waits")
        case .ownerUndoNotSurvivor:
            RuleText("by the owner, the session is not of the account that stayed", "refused: there is no such merge")
        case .ownerUndoByAdministrator:
            RuleText("by the owner, an administrator merged the accounts", "refused: an administrator is needed")
        case .undoNotCommitted: RuleText("the merge was not committed, or is undone", "refused: not committed")
        case .undoTooLate: RuleText("the undo period is over", "refused: too late")
        case .undoLaterChanges:
            RuleText("later changes prevent it, and the request does not keep them", "refused: later changes")
        case .ownerUndoNeedsRecentSignIn: RuleText("by the owner, the session is old", "refused: sign in again")
        case .ownerUndoNeedsSecondFactor:
            RuleText(
                "by the owner, the account has a second factor that the session lacks",
                "refused: second factor required"
            )
        case .mergeUndone: RuleText("otherwise", "both accounts are restored, except later changes that are kept")
        }
    }
}

extension Rule {
    /// The reason that the owner of a method gets, for a rule that suspends methods; `nil` for every other rule.
    package var suspensionReason: QuarantineReason? {
        QuarantineReason.allCases.first { Self.suspending($0).contains(self) }
    }

    private static func suspending(_ reason: QuarantineReason) -> [Rule] {
        switch reason {
        case .addressProven:
            [
                .takeoverByProvider, .takeoverFromFormerHolder, .takeoverBySubject, .takeoverByEmailLink,
                .mailedLinkFromFormerHolder, .takeoverByConflict, .takeoverByRecovery, .disowned, .disownedBehindFactor,
            ]
        case .passwordReset: [.resetUnlinksProviders, .resetSetsFirstPassword, .resetReleasesNumber]
        case .addressRecovered: [.recoverySuspendsAdditions, .decoyGivesWay]
        case .audit: [.repairApplied]
        }
    }
}

/// The words of a rule, from which docs/reference/decisions.md is generated.
package struct RuleText: Sendable, Hashable {
    /// The rule matches if no earlier rule of its table does and this condition holds.
    package let condition: String
    package let outcome: String

    init(_ condition: String, _ outcome: String) {
        self.condition = condition
        self.outcome = outcome
    }
}

extension RuleText {
    /// The outcome and the condition, with the accounts spelled out in place of letters.
    package var sentence: String {
        Self.spelledOut("\(outcome) (\(condition))")
    }

    private static let letters: [Character: String] = [
        "F": "the owner of the identity", "M": "the owner of the address", "T": "the account of the session",
        "O": "the owner of the requested address", "N": "the owner of the number",
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
                // Covers "F" and "F's own".
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

import AccountLinking

/// Lifetimes, with bounds and defaults, in seconds.
package enum Lifetimes {
    static let idTokenSeconds: Int64 = 3600

    /// At least the life of an ID token, which third parties accept anyway.
    static let sessionSecondsBounds: ClosedRange<Int64> = idTokenSeconds...5 * 366 * 86_400

    /// At least two lives of an ID token: an app refreshes when its ID token expires, so with one life a session in use
    /// would end at the same instant.
    static let inactivitySecondsBounds: ClosedRange<Int64> = 2 * idTokenSeconds...sessionSecondsBounds.upperBound

    /// The limit of a new project. An app that is opened twice a year keeps its session.
    static let newProjectInactivitySeconds: Int64 = 180 * 86_400

    /// Retention of counts of refused sign-ins.
    static let signInRefusalSeconds: Int64 = 90 * 86_400

    /// Clients may request these; the longest is the default.
    package static let sessionCookieSeconds: ClosedRange<Int64> = 300...14 * 86_400

    /// Life of a service account's bearer token.
    static let accessTokenSeconds: Int64 = 3600

    /// A day, plus a minute of clock difference at either end.
    static let providerTokenSecondsMax: Int64 = 86_400 + 120

    /// Longest life of a custom token, and of a service account's assertion.
    static let assertionSecondsMax: Int64 = 3600

    /// An app that is opened once in three months keeps its device.
    static let deviceSeconds: Int64 = 90 * 86_400
    static let deviceSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Time in which an address gets one mail after wrong doors.
    static let rightDoorSeconds: Int64 = 86_400
    static let rightDoorSecondsBounds: ClosedRange<Int64> = 60...366 * 86_400

    static let conflictSeconds: Int64 = 3600

    /// Time from a click on one of Concord's pages until the app's page has exchanged the code.
    static let sessionCodeSeconds: Int64 = 60
    /// Time to continue a sign-up from its mail, and to choose a password after the mailbox is proven.
    static let pendingSignUpSeconds: Int64 = 6 * 3600
    static let signUpProofSeconds: Int64 = 900
    /// Time to choose between a new account and another one at a first sign-in.
    static let firstSignInSeconds: Int64 = 600
    static let conflictSecondsBounds: ClosedRange<Int64> = 60...30 * 86_400

    /// 0 deletes suspended methods at once.
    static let quarantineSeconds: Int64 = 30 * 86_400
    static let quarantineSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Default times for webhook receivers to approve a merge, and for undoing it.
    static let mergeAnswerSeconds: Int64 = 60
    static let mergeAnswerSecondsBounds: ClosedRange<Int64> = 1...86_400
    static let mergeUndoSeconds: Int64 = 30 * 86_400
    static let mergeUndoSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Retry time of a mail about an undone merge.
    static let undoNoticeSeconds: Int64 = 30 * 86_400

    /// Default retention in days; 0 keeps decisions forever. At least a day, because a writer whose commit got no
    /// answer searches for its event.
    static let decisionDays: Int64 = 400
    static let decisionDaysBounds: ClosedRange<Int64> = 0...36_500

    /// Includes a sign-up at the provider.
    static let providerFlowSeconds: Int64 = 3600

    static let phoneCodeSeconds: Int64 = 600
    static let phoneCodeSecondsBounds: ClosedRange<Int64> = 60...3600

    /// Default time in which a number gets no second message.
    static let messageWindowSeconds: Int64 = 30
    static let messageWindowSecondsBounds: ClosedRange<Int64> = 0...600

    /// Life of the proof of a number that another account owned.
    static let temporaryProofSeconds: Int64 = 3600

    /// Time to wait for a silent push before a challenge. Users with background refresh off wait that long.
    static let appPushSeconds: Int64 = 10

    static let appReceiptSeconds: Int64 = 7 * 86_400

    static let pendingSignInSeconds: Int64 = 900

    /// Time to show the first code of a new factor.
    static let factorEnrollmentSeconds: Int64 = 900

    /// Retention of answers to idempotent requests.
    static let storedResponseSeconds: Int64 = 86_400

    /// Default for undoing a change of methods by mail. It covers a weekend and no more: until then the mailbox alone
    /// undoes what a session did.
    static let revertSeconds: Int64 = 3 * 86_400
    static let revertSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Defaults for mailed codes.
    static func codeSeconds(_ kind: EmailCodeRecord.Kind) -> Int64 {
        switch kind {
        case .passwordReset: 3600
        case .emailSignIn: 6 * 3600
        case .verifyEmail, .verifyAndChangeEmail: 3 * 86_400
        case .recoverEmail: 30 * 86_400
        // No longer than needed to read the mail: until then the mailbox alone gets past the new factor.
        case .revertSecondFactorAddition: 7 * 86_400
        case .revertSignInMethodChange: revertSeconds
        case .lookUp: 3600
        }
    }
    /// Lifetime of a lookup's proof, for its next step.
    static let lookUpProofSeconds: Int64 = 600
    static let codeSecondsBounds: ClosedRange<Int64> = 60...366 * 86_400
}

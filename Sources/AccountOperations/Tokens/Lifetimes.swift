import AccountLinking

/// Lifetimes of everything that Concord issues or accepts, with bounds and defaults, in seconds.
package enum Lifetimes {
    static let idTokenSeconds: Int64 = 3600

    /// Bounds of the age that a project may set for sessions: at least that of an ID token, which third parties accept
    /// anyway.
    static let sessionSecondsBounds: ClosedRange<Int64> = idTokenSeconds...5 * 366 * 86_400

    /// Bounds of the inactivity that a project may set for sessions: at least two lives of an ID token. An app
    /// refreshes when its ID token expires, so with one life a session in use would end at the same instant.
    static let inactivitySecondsBounds: ClosedRange<Int64> = 2 * idTokenSeconds...sessionSecondsBounds.upperBound

    /// Retention of the counts of refused sign-ins.
    static let signInRefusalSeconds: Int64 = 90 * 86_400

    /// The lifetimes that a client may request; the longest is the default.
    package static let sessionCookieSeconds: ClosedRange<Int64> = 300...14 * 86_400

    /// Life of a service account's bearer token.
    static let accessTokenSeconds: Int64 = 3600

    /// The longest accepted life of a provider's ID token: a day, plus a minute of clock difference at either end.
    static let providerTokenSecondsMax: Int64 = 86_400 + 120

    /// The longest life of a custom token or of a service account's assertion.
    static let assertionSecondsMax: Int64 = 3600

    /// Default time for which a conflict waits for its owner.
    static let conflictSeconds: Int64 = 3600
    static let conflictSecondsBounds: ClosedRange<Int64> = 60...30 * 86_400

    /// Default time for which a suspended method can be restored. 0 deletes it at once.
    static let quarantineSeconds: Int64 = 30 * 86_400
    static let quarantineSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Default time for webhook receivers to approve a merge, and default time for which a merge can be undone.
    static let mergeAnswerSeconds: Int64 = 60
    static let mergeAnswerSecondsBounds: ClosedRange<Int64> = 1...86_400
    static let mergeUndoSeconds: Int64 = 30 * 86_400
    static let mergeUndoSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Time for which a mail about an undone merge is retried.
    static let undoNoticeSeconds: Int64 = 30 * 86_400

    /// Default retention of decisions in days; 0 keeps them forever. At least a day, because a writer whose commit got
    /// no answer searches for its event.
    static let decisionDays: Int64 = 400
    static let decisionDaysBounds: ClosedRange<Int64> = 0...36_500

    /// Time for a sign-in on a provider's page, sign-up there included.
    static let providerFlowSeconds: Int64 = 3600

    /// Default lifetime of a code sent to a number.
    static let phoneCodeSeconds: Int64 = 600
    static let phoneCodeSecondsBounds: ClosedRange<Int64> = 60...3600

    /// Default time in which a number gets no second message.
    static let messageWindowSeconds: Int64 = 30
    static let messageWindowSecondsBounds: ClosedRange<Int64> = 0...600

    /// Lifetime of a temporary proof: the proof of a number that another account owned.
    static let temporaryProofSeconds: Int64 = 3600

    /// Time for which an app waits for a silent push before it shows a challenge. Users who have switched background
    /// refresh off wait that long.
    static let appPushSeconds: Int64 = 10

    /// Time for which the receipt of a silent push proves the app.
    static let appReceiptSeconds: Int64 = 7 * 86_400

    /// Time for which a sign-in waits for its second factor.
    static let pendingSignInSeconds: Int64 = 900

    /// Time for which the secret of a new second factor waits for its first code.
    static let factorEnrollmentSeconds: Int64 = 900

    /// Retention of the answer to an idempotent request.
    static let storedResponseSeconds: Int64 = 86_400

    /// Default time in which a mail can restore the sign-in methods from before a change. It covers a weekend and no
    /// more, because until then the mailbox alone undoes what a session did.
    static let revertSeconds: Int64 = 3 * 86_400
    static let revertSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Default lifetime of a mailed code.
    static func codeSeconds(_ kind: EmailCodeRecord.Kind) -> Int64 {
        switch kind {
        case .passwordReset: 3600
        case .emailSignIn: 6 * 3600
        case .verifyEmail, .verifyAndChangeEmail: 3 * 86_400
        case .recoverEmail: 30 * 86_400
        // No longer than needed to read it: while the code lives, the mailbox alone gets past the new factor.
        case .revertSecondFactorAddition: 7 * 86_400
        case .revertSignInMethodChange: revertSeconds
        }
    }
    static let codeSecondsBounds: ClosedRange<Int64> = 60...366 * 86_400
}

import AccountLinking

/// How long what is issued here is good for, and what is presented may be: every bound and every default, in seconds.
package enum Lifetimes {
    static let idTokenSeconds: Int64 = 3600

    /// Bounds of the age that a project may set for sessions: at least that of an ID token, which a third party accepts anyway.
    static let sessionSecondsBounds: ClosedRange<Int64> = idTokenSeconds...5 * 366 * 86_400

    /// Bounds of the inactivity that a project may set for sessions: at least two lives of an ID token. An app refreshes when its ID
    /// token expires, so with one life the session of somebody who uses it would end at the same instant.
    static let inactivitySecondsBounds: ClosedRange<Int64> = 2 * idTokenSeconds...sessionSecondsBounds.upperBound

    /// Counts of refused sign-ins are kept for so long.
    static let signInRefusalSeconds: Int64 = 90 * 86_400

    /// What a client may ask for; without asking it gets the longest.
    package static let sessionCookieSeconds: ClosedRange<Int64> = 300...14 * 86_400

    /// The bearer token of a service account.
    static let accessTokenSeconds: Int64 = 3600

    /// The longest that a provider's ID token is accepted: a day, and the minute that clocks may differ by at either end.
    static let providerTokenSecondsMax: Int64 = 86_400 + 120

    /// The longest a custom token, or an assertion of a service account, may live.
    static let assertionSecondsMax: Int64 = 3600

    /// How long a conflict waits for its owner, unless the project says otherwise.
    static let conflictSeconds: Int64 = 3600
    static let conflictSecondsBounds: ClosedRange<Int64> = 60...30 * 86_400

    /// How long a method that a takeover or a reset took off can come back, unless the project says otherwise; 0: it is gone
    /// at once.
    static let quarantineSeconds: Int64 = 30 * 86_400
    static let quarantineSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// How long the receivers of webhooks have to agree to a merge, and how long it can be undone, unless the project says
    /// otherwise.
    static let mergeAnswerSeconds: Int64 = 60
    static let mergeAnswerSecondsBounds: ClosedRange<Int64> = 1...86_400
    static let mergeUndoSeconds: Int64 = 30 * 86_400
    static let mergeUndoSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// How long a mail about a merge that was undone waits for the relay.
    static let undoNoticeSeconds: Int64 = 30 * 86_400

    /// For how many days decisions are kept, unless the project says otherwise; 0 keeps them for good. A day at least: who
    /// lost the answer of a commit looks for its event.
    static let decisionDays: Int64 = 400
    static let decisionDaysBounds: ClosedRange<Int64> = 0...36_500

    /// How long a sign-in on a provider's own page may take, signing up there included.
    static let providerFlowSeconds: Int64 = 3600

    /// Seconds for which a code sent to a number is valid, unless the project says otherwise.
    static let phoneCodeSeconds: Int64 = 600
    static let phoneCodeSecondsBounds: ClosedRange<Int64> = 60...3600

    /// Seconds in which a number gets no second message, unless the project says otherwise.
    static let messageWindowSeconds: Int64 = 30
    static let messageWindowSecondsBounds: ClosedRange<Int64> = 0...600

    /// Seconds for which a temporary proof is valid: the proof of a number that another account owned.
    static let temporaryProofSeconds: Int64 = 3600

    /// How long an app waits for a silent push before it has a challenge solved: what somebody waits for who has switched
    /// background refresh off.
    static let appPushSeconds: Int64 = 10

    /// Seconds for which the receipt of a silent push proves the app.
    static let appReceiptSeconds: Int64 = 7 * 86_400

    /// How long a sign-in waits for its second factor.
    static let pendingSignInSeconds: Int64 = 900

    /// How long the secret of a second factor that is being set up waits for its first code.
    static let factorEnrollmentSeconds: Int64 = 900

    /// How long the answer to a request that may be repeated is kept.
    static let storedResponseSeconds: Int64 = 86_400

    /// Seconds in which a mail can bring back the sign-in methods from before a change: a weekend away, and no longer. Until then the
    /// mailbox alone undoes what a session did.
    static let revertSeconds: Int64 = 3 * 86_400
    static let revertSecondsBounds: ClosedRange<Int64> = 0...366 * 86_400

    /// Seconds for which a mailed code is valid, unless the project says otherwise.
    static func codeSeconds(_ kind: EmailCodeRecord.Kind) -> Int64 {
        switch kind {
        case .passwordReset: 3600
        case .emailSignIn: 6 * 3600
        case .verifyEmail, .verifyAndChangeEmail: 3 * 86_400
        case .recoverEmail: 30 * 86_400
        // Long enough to be read, and no longer: as long as it lives, the mailbox alone gets past the new factor.
        case .revertSecondFactorAddition: 7 * 86_400
        case .revertSignInMethodChange: revertSeconds
        }
    }
    static let codeSecondsBounds: ClosedRange<Int64> = 60...366 * 86_400
}

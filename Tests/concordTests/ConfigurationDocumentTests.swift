import AccountStore
import AccountTestSupport
import Testing

@testable import concord

/// The tables of the operations manual that the program knows better. One after the other, as both may write the file.
@Suite(.serialized) struct ConfigurationDocumentTests {
    @Test func `the documented table of settings equals the program's table`() throws {
        try DocumentTable.expect(
            ConfigurationTable.markdown,
            as: "configuration",
            in: "docs/reference/configuration.md"
        )
    }

    @Test func `the operations manual names every kind of row that the purge deletes`() throws {
        let rows: [(what: String, when: String)] =
            AccountStore.Purgeable.allCases.map(\.row)
        let table = ["| What | When |", "|---|---|"] + rows.map { "| \($0.what) | \($0.when) |" }
        try DocumentTable.expect(table.joined(separator: "\n"), as: "deleted", in: "docs/reference/configuration.md")
    }
}

extension AccountStore.Purgeable {
    /// The rows of the kind, and the time of their deletion (`Purge.cutoff`).
    fileprivate var row: (what: String, when: String) {
        switch self {
        case .conflicts: ("conflicts, open or closed", "`purge.keep` after they expired")
        case .codes: ("mailed codes, used or not", "`purge.keep` after they expired")
        case .shortCodes: ("short codes of mails, and counts of wrong ones", "once they expired")
        case .phoneVerifications: ("codes sent to numbers, used or not", "`purge.keep` after they expired")
        case .factorChallenges:
            ("sign-ins that wait for a second factor, and factors being set up", "`purge.keep` after they expired")
        case .messageCounts: ("counts of mails, messages and guesses against the limits", "once their window is over")
        case .messages: ("messages, sent or not", "`purge.keep` after they expired")
        case .finishedMessages:
            ("messages that were sent or discarded", "`purge.keep` after they were written")
        case .webhookMessages:
            ("webhooks", "`purge.keep` after they were delivered or failed, or after their endpoint was disabled")
        case .passwordAttempts:
            (
                "counts of wrong passwords of an address, and of wrong codes of a second factor",
                "a day after the last wrong one, or 30 days after it if sign-ins had to wait"
            )
        case .passwordSources:
            (
                "counts of wrong passwords by network and device, and networks of successful sign-ins",
                "the same, and 30 days after a sign-in"
            )
        case .signInRefusals: ("counts of refused sign-ins", "90 days after the day that they count")
        case .signingKeys: ("signing keys", "once they are no longer published")
        case .storedResponses: ("stored answers of an `Idempotency-Key`", "a day after the request")
        case .quarantinedMethods:
            (
                "methods that a takeover, a reset or an audit plan suspended",
                "`concord.quarantineSeconds` after that, 30 days by default"
            )
        case .proofMails: ("counts of mails about conflicts", "an hour after the mail")
        case .providerFlows: ("sign-ins on providers' pages", "once they expired")
        case .signInReturns:
            ("codes that hand a session of the sign-in page over, used or not", "`purge.keep` after they expired")
        case .pendingSignUps: ("sign-ups that waited for their mailbox", "once they expired")
        case .usedIDTokens: ("digests of providers' ID tokens that opened a session", "once the token has ended")
        case .devices:
            ("devices that accounts know", "`concord.devices.seconds` after their last use, 90 days by default")
        case .reservedAddresses: ("addresses that were reserved for an account", "when its recovery code expires")
        case .merges: ("merges that were aborted or undone", "`purge.keep` after that; committed merges stay")
        case .events:
            (
                "events of accounts, with the records of decisions, from before the first month",
                "`concord.decisionRetentionDays` after they happened, 400 days unless the project says otherwise; 0: never"
            )
        case .eventsOutsideMonths:
            (
                "events of later months: a month is dropped as a whole",
                "the same after the end of the month; if the month has no partition, after they happened"
            )
        case .journal:
            (
                "changes of merges and audit plans, for undoing them",
                "`concord.merges.undoSeconds` after the merge, `purge.keep_undo` after the plan was applied"
            )
        case .auditSteps: ("steps of audit plans", "`purge.keep_undo` after they were applied, 30 days by default")
        case .sessions:
            (
                "sessions",
                "once they were ended; unused ones within a day after `purge.keep` and the shorter limit of `concord.sessions`"
            )
        case .auditPlans: ("audit plans", "the same, once none of their steps is left")
        }
    }
}

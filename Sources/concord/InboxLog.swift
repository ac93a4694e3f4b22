import AccountLinking
import AccountOperations
import AccountStore

/// Finds the mails and text messages that `concord dev` has not reported yet.
struct InboxNews {
    /// Seconds before the newest message in which an older one may still become visible, because its transaction
    /// committed later. Ids of older messages are forgotten.
    private static let overlapSeconds: Int64 = 60

    /// Messages up to this time are not news.
    private var horizon: Timestamp
    private var reported: [String: Timestamp] = [:]

    /// - `start`: earlier messages are not reported.
    init(since start: Timestamp) {
        horizon = start
    }

    func isNew(_ id: String, _ createdAt: Timestamp) -> Bool { createdAt > horizon && reported[id] == nil }

    /// Records messages as reported.
    mutating func report(_ messages: [InboxMessage]) {
        for message in messages { reported[message.id] = message.createdAt }
        guard let newest = messages.map(\.createdAt).max() else { return }
        horizon = max(horizon, newest.adding(seconds: -Self.overlapSeconds))
        reported = reported.filter { $0.value > horizon }
    }
}

extension InboxMessage {
    /// The line that `concord dev` prints, with the address of a mail in the inbox, or the code of a text message:
    ///
    ///     mail  PASSWORD_RESET  to ada@example.com  http://127.0.0.1:9099/inbox#ID
    ///     sms  VERIFICATION_CODE  to +16505550101  code 123456
    ///
    /// - `inbox`: the URL of the inbox.
    func developmentLine(inbox: String, isColored: Bool) -> String {
        let place = kind == OutboxMessage.Kind.sms.rawValue ? code.map { "code \($0)" } : nil
        let name = isColored ? "\u{1B}[36m\(kind)\u{1B}[0m" : kind
        return "\(name)  \(type)  to \(to)  \(place ?? "\(inbox)#\(id)")"
    }
}

/// Prints a line on standard error for each mail and text message. Development only: the lines hold codes and
/// addresses.
func printInboxMessages(_ messages: [InboxMessage], inbox: String) {
    let isColored = Terminal.errorIsColored
    for message in messages { emit(message.developmentLine(inbox: inbox, isColored: isColored) + "\n") }
}

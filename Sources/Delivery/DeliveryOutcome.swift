/// What came of handing a message over once.
///
/// A reason is a status or a word, at most 64 printable ASCII characters: operators read it, and it tells nothing of
/// recipient or content.
package enum DeliveryOutcome: Sendable, Hashable {
    case delivered
    /// It was not taken this time; or it was, and the answer did not come.
    case deferred(reason: String)
    /// It will not be taken however often it is sent.
    case refused(reason: String)
    /// Nothing is taken from anybody now: the message was not even looked at.
    case unavailable(reason: String)
}

/// The outcome of one attempt to deliver a message.
///
/// A reason is a status or a word, at most 64 printable ASCII characters. Operators read it, and it reveals nothing
/// about recipient or content.
package enum DeliveryOutcome: Sendable, Hashable {
    case delivered
    /// It was not taken this time; or it was, and the answer did not come.
    case deferred(reason: String)
    /// It will not be taken however often it is sent.
    case refused(reason: String)
    /// The receiver accepts no message at the moment, and has not read this one.
    case unavailable(reason: String)
}

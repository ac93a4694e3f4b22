/// The outcome of one attempt to deliver a message.
///
/// A reason is a status or a word, at most 64 printable ASCII characters. Operators read it, and it reveals nothing
/// about recipient or content.
package enum DeliveryOutcome: Sendable, Hashable {
    case delivered
    /// The receiver did not accept the message this time, or its answer was lost.
    case deferred(reason: String)
    /// The receiver will never accept the message.
    case refused(reason: String)
    /// The receiver accepts no message at the moment, and has not read this one.
    case unavailable(reason: String)
}

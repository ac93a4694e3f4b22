/// A limit on outgoing messages of one kind: `countMax` within a window that begins with the first, for each recipient,
/// for each caller or in total.
package struct MessageLimit: Sendable, Hashable {
    /// The key of the count. Raw values are stored.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Protects the owner of a number or device from a flood.
        case recipient
        /// Limits callers by network address.
        case address
        /// Limits the operator's costs.
        case project
    }

    package var scope: Scope
    package var windowSeconds: Int64
    package var countMax: Int64

    package init(_ scope: Scope, windowSeconds: Int64, countMax: Int64) {
        self.scope = scope
        self.windowSeconds = windowSeconds
        self.countMax = countMax
    }
}

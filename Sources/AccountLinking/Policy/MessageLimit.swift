/// One bound on the messages of one kind that leave: so many for one recipient, for one caller or altogether, within a window
/// that begins with the first.
package struct MessageLimit: Sendable, Hashable {
    /// What is counted by; raw values are kept.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Whoever holds the number, or has the device, is spared a flood.
        case recipient
        /// Whoever calls from one network address gets no more than a person needs.
        case address
        /// What the operator pays for.
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

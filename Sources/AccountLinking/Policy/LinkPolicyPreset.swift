/// Named set of values for the rules in which Concord is safer than production Firebase. Raw values are names on the
/// wire.
///
/// A project follows one preset and can override each value (`linkPolicy` in docs/guides/policy.md).
package enum LinkPolicyPreset: String, Sendable, Hashable, CaseIterable {
    /// The safe behavior. Default of a new project.
    case strict
    /// The behavior of production Firebase. A project that was created before presets existed keeps it.
    case firebase
}

/// Answer to a provider that names a different subject for an address whose account is linked to that provider.
///
/// A provider's subject identifies a person for good (OpenID Connect Core 1.0, section 2, `sub`). A second subject with
/// the same address is a different person: a new employee, or the next owner of an expired domain. Raw values are names
/// on the wire.
package enum SubjectChange: String, Sendable, Hashable, CaseIterable {
    /// The sign-in is a conflict. A recent session of the account settles it. The mailbox does not, because the next
    /// owner of a domain reads its mail.
    case conflict
    /// The new subject replaces the old one, as in production. Other methods and sessions stay. The owner gets a mail
    /// with a code that restores the old subject.
    case replace
    /// The new subject takes the account over: other methods are suspended and sessions end. The owner gets a mail.
    case takeover
    /// The new subject replaces the old one under the rule I18, for a migration that the operator has planned, such as
    /// a provider that issues new subjects to all its users.
    case move
}

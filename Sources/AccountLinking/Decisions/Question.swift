/// The facts of one decision: its whole input, apart from the policy.
///
/// Concord stores a question with its answer, asks it again, and asks it with one fact changed. Its coding keys are the
/// stored names: a name can be added, never changed.
package protocol Question<Decision>: Sendable, Hashable, Codable {
    associatedtype Decision: StoredDecision

    /// The name of the question in stored decisions.
    static var name: String { get }

    /// The answer of the rules, which are total and pure. The first matching rule wins.
    func decide(_ policy: LinkPolicy) -> Verdict<Decision>

    /// The accounts that the question is about.
    var accounts: [Account] { get }

    /// The provider's credential in the request; `nil` if there is none.
    var presentedCredential: IncomingCredential? { get }

    /// The credential that waits for the account of a sign-in; `nil` if none does.
    var waitingCredential: IncomingCredential? { get }

    /// Replaces every address, number and subject by a pseudonym.
    mutating func rename(by names: inout Pseudonyms)

    /// Turns a fact into its opposite.
    /// - Returns: `false` if the question does not depend on the fact.
    mutating func flip(_ fact: DecidingFact) -> Bool

    /// Replaces the facts about enabled providers.
    mutating func enable(_ providers: Set<ProviderID>)
}

extension Question {
    package func rule(_ policy: LinkPolicy) -> Rule { decide(policy).rule }

    package var presentedCredential: IncomingCredential? { nil }

    package var waitingCredential: IncomingCredential? { nil }

    package mutating func enable(_ providers: Set<ProviderID>) {}
}

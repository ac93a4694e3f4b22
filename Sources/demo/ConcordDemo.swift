import ArgumentParser

/// The provider conflict, played from end to end: an identity provider in a process of its own, and a client that knows
/// nothing of Concord but its URL. `scripts/demo` puts the two and a development server together.
@main
struct ConcordDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "concord-demo",
        abstract: "Play a provider conflict from end to end over HTTP.",
        subcommands: [IssuerCommand.self, PlayCommand.self]
    )
}

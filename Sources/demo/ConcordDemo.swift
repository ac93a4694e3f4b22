import ArgumentParser

/// Plays a provider conflict from end to end: an identity provider in a separate process, and a client that has only
/// Concord's URL. `scripts/demo` starts both and a development server.
@main
struct ConcordDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "concord-demo",
        abstract: "Play a provider conflict from end to end over HTTP.",
        subcommands: [IssuerCommand.self, PlayCommand.self]
    )
}

import ArgumentParser

/// The form of what a command prints: for people, or the same for programs.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case text
    case json

    /// `table` is another name for `text`.
    init?(argument: String) {
        self.init(rawValue: argument == "table" ? "text" : argument)
    }
}

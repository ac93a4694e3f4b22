import ArgumentParser

/// The output format of a command: for people or for programs.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case text
    case json

    /// `table` is another name for `text`.
    init?(argument: String) {
        self.init(rawValue: argument == "table" ? "text" : argument)
    }
}

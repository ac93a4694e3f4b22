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

/// The output format of a command that lists many things.
enum ListFormat: String, CaseIterable, ExpressibleByArgument {
    case text
    /// One array.
    case json
    /// One object a line.
    case ndjson

    /// `table` is another name for `text`.
    init?(argument: String) {
        self.init(rawValue: argument == "table" ? "text" : argument)
    }
}

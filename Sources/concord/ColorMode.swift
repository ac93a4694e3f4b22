import ArgumentParser
import FoundationEssentials
import Glibc

/// The answer of `--color`.
enum ColorMode: String, CaseIterable, ExpressibleByArgument {
    /// Colours on a terminal, unless `NO_COLOR` is set (https://no-color.org) or the terminal is `dumb`.
    case auto
    case always
    case never

    func isOn(
        isTerminal: Bool = isatty(STDOUT_FILENO) == 1,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Bool {
        switch self {
        case .auto: isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
        case .always: true
        case .never: false
        }
    }
}

struct ColorOption: ParsableArguments {
    @Option(help: "Colours of the text: auto uses them on a terminal, unless NO_COLOR is set.")
    var color: ColorMode = .auto
}

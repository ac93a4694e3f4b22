import FoundationEssentials
import Glibc

/// The terminal of the user.
enum Terminal {
    /// Number of columns of standard output; 80 if the terminal does not report it; `nil` if it is no terminal.
    static var width: Int? {
        guard isatty(STDOUT_FILENO) == 1 else { return nil }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// True if lines on standard error have colours, by the rules of `--color auto`.
    static var errorIsColored: Bool { ColorMode.auto.isOn(isTerminal: isatty(STDERR_FILENO) == 1) }
}

extension String {
    /// Number of columns that the text takes on a terminal: 2 for wide East Asian characters and emoji, 0 for combining
    /// and format characters (Unicode Standard Annex #11).
    var displayWidth: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + $1.displayWidth }
    }

    /// Returns the text, or its beginning and `…`, in at most `width` columns.
    func cut(to width: Int) -> String {
        guard displayWidth > width else { return self }
        var (beginning, used) = ("", 0)
        for character in self {
            used += character.displayWidth
            if used > width - 1 { break }
            beginning.append(character)
        }
        return width > 0 ? beginning + "…" : ""
    }
}

extension Character {
    fileprivate var displayWidth: Int {
        guard let first = unicodeScalars.first else { return 0 }
        let hasEmojiForm = unicodeScalars.contains { $0.value == 0xFE0F }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: return hasEmojiForm || first.isWide ? 2 : 1
        }
    }
}

extension Unicode.Scalar {
    /// True for the blocks whose characters are wide.
    fileprivate var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x3FFFD:
            true
        default: properties.isEmojiPresentation
        }
    }
}

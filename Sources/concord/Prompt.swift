import ArgumentParser
import Glibc

/// True if a person at a terminal can answer.
var canAsk: Bool { isatty(STDIN_FILENO) == 1 }

/// Asks at the terminal for agreement, unless it was given before (`isAgreed`). Without a terminal, there is no
/// agreement.
/// - Throws: `ExitCode`, after a report: `answerIsNo` without agreement, `stopped` after a signal.
func agree(to question: String, isAgreed: Bool) async throws {
    if isAgreed { return }
    var answer: String?
    if canAsk {
        do {
            answer = try await answerAtTerminal(to: "\(question) [y/N] ")
        } catch is Interrupted {
            emit("\n")
            complain("interrupted; nothing was changed")
            throw ExitCode.stopped
        }
    }
    guard ["y", "yes"].contains(answer?.lowercased()) else {
        complain("nothing was changed; answer y, or give --yes")
        throw ExitCode.answerIsNo
    }
}

/// Prints `question` and reads a line; `nil` at the end of the input. Waits for input before it reads, because a signal
/// does not end a read.
/// - Throws: `Interrupted`.
func answerAtTerminal(to question: String, isSecret: Bool = false) async throws -> String? {
    let interrupt = Interrupt(saying: nil)
    return try await interrupt.watching {
        emit(question)
        let terminal = isSecret ? TerminalEcho() : nil
        defer { terminal?.restore() }
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, 0) == 0 {
            if interrupt.hasCome { throw Interrupted() }
            try await Task.sleep(for: .milliseconds(20))
        }
        let answer = readLine()
        // After Ctrl-D, the cursor is still on the line of the question.
        if answer == nil { emit("\n") }
        return answer
    }
}

/// The terminal without echo, while a secret is typed.
private struct TerminalEcho {
    private let usual: termios

    /// `nil` if standard input is no terminal.
    init?() {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        usual = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    func restore() {
        var settings = usual
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        // The line break was not shown either.
        emit("\n")
    }
}

import Foundation

/// The person at the terminal. Questions go to standard output, answers come from standard input.
struct Person: Sendable {
    /// Writes a line.
    func show(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    /// Asks a question, and returns the answer. Ends the program if there is none: what is stored stays for the next
    /// launch.
    func answer(_ question: String) -> String {
        FileHandle.standardOutput.write(Data((question + ": ").utf8))
        guard let answer = readLine() else {
            show("")
            exit(1)
        }
        return answer
    }

    /// Asks for a password. A terminal does not show it.
    func secret(_ question: String) -> String {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return answer(question) }
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            show("")
        }
        return answer(question)
    }

    /// Returns true if the person types `yes`.
    func agrees(_ question: String) -> Bool { answer("\(question)? Type yes or no") == "yes" }
}

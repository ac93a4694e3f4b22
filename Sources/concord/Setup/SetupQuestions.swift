import ArgumentParser

/// The questions of `concord setup` at a terminal.
struct SetupQuestions: Sendable {
    /// False without a terminal, and with `--yes`.
    let mayAsk: Bool

    static func missing(_ options: [String]) -> ValidationError {
        ValidationError("give \(options.joined(separator: ", ")); only a terminal is asked")
    }

    /// Asks until `parse` accepts the answer.
    func value<Value>(
        _ question: String,
        option: String,
        rule: String,
        _ parse: (String) -> Value?
    ) async throws -> Value {
        guard mayAsk else { throw Self.missing([option]) }
        while true {
            let answer = try await answer(to: question)
            if let value = parse(answer) { return value }
            complain("not allowed: \(rule)")
        }
    }

    func isAgreed(_ question: String) async throws -> Bool {
        ["y", "yes"].contains(try await answer(to: "\(question) [y/N] ").lowercased())
    }

    /// Asks for providers until the answer is empty.
    func providers() async throws -> [SetupProvider] {
        var providers: [SetupProvider] = []
        while true {
            let id = try await answer(to: "Identity provider to register, such as google.com (empty: no more): ")
            if id.isEmpty { return providers }
            if id == "apple.com" {
                complain("apple.com needs a key and a team; use concord providers apply")
                continue
            }
            let clientID = try await answer(to: "Its client id: ")
            let issuer = id.hasPrefix("oidc.") ? try await answer(to: "Its issuer, an https URL: ") : ""
            let secret = try await answer(to: "Its client secret, which is not shown (empty: none): ", isSecret: true)
            providers.removeAll { $0.id == id }
            providers.append(
                SetupProvider(
                    id: id,
                    clientID: clientID,
                    secret: secret.isEmpty ? nil : secret,
                    issuer: issuer.isEmpty ? nil : issuer
                )
            )
        }
    }

    /// - Throws: `ExitCode.stopped` after a signal or at the end of the input. Questions come before every change.
    private func answer(to question: String, isSecret: Bool = false) async throws -> String {
        do {
            if let answer = try await answerAtTerminal(to: question, isSecret: isSecret) { return answer }
        } catch is Interrupted {
            emit("\n")
        }
        complain("interrupted; nothing was changed")
        throw ExitCode.stopped
    }
}

import AccountOperations
import ArgumentParser
import IdentityProviders
import JSON

extension WebhookCommand {
    /// `concord webhook test`
    struct Test: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a signed test event to an endpoint, and print the answer.",
            discussion: """
                Sends one event now, from this machine, also to a disabled endpoint. Its data is {"test":true}: it names \
                no account. The event is not stored and not repeated. Exits with 69 if the receiver does not accept it, \
                with 1 if there is no such endpoint.

                EXAMPLES
                  concord webhook test ID
                  concord webhook test ID --event method.linked
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(
            help: ArgumentHelp(
                "Type of the event: webhook.test or a type of docs/guides/webhooks.md.",
                valueName: "type"
            )
        )
        var event = WebhookTest.defaultType

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        @Argument(help: ArgumentHelp("Id of the endpoint, as concord webhook list prints it.", valueName: "id"))
        var id: String

        func validate() throws {
            guard WebhookTest.types.contains(event) else {
                throw ValidationError("--event: use one of \(WebhookTest.types.joined(separator: ", "))")
            }
        }

        func perform() async throws {
            let (id, event, format) = (id, event, format)
            try await WebhookCommand.withOperations(configuration) { operations in
                let test = try await operations.testWebhook(id, type: event)
                switch format {
                case .text: try say(TextTable.text(test.rows))
                case .json: try say(test.json.text)
                }
                guard !test.isAccepted else { return }
                try flushOutput()
                complain(test.advice)
                throw ExitCode.notAccepted
            }
        }
    }
}

extension WebhookTest {
    private var milliseconds: Int64 {
        duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    }

    fileprivate var rows: [(String, String)] {
        let result =
            switch outcome {
            case .answered(let status): ("status", String(status))
            case .failed(let failure): ("failure", failure.rawValue)
            }
        return [("id", id), ("type", type), ("url", url), result, ("duration", "\(milliseconds) ms")]
    }

    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(id), "type": .string(type), "url": .string(url), "accepted": .bool(isAccepted),
            "durationMilliseconds": .integer(milliseconds),
        ]
        switch outcome {
        case .answered(let status): members["status"] = .integer(Int64(status))
        case .failed(let failure): members["failure"] = .string(failure.rawValue)
        }
        return .object(members)
    }

    /// The next step after a refusal.
    var advice: String {
        switch outcome {
        case .answered(let status):
            "the receiver does not accept the event: it answers \(status). \(Self.advice(status))"
        case .failed(let failure): "the receiver does not answer: \(Self.advice(failure))"
        }
    }

    private static func advice(_ status: Int) -> String {
        switch status {
        case 300..<400: "Concord follows no redirect: add the endpoint again with the address that it redirects to"
        case 400, 401, 403:
            """
            Check that it verifies with the secret of this endpoint, reads the body before it is parsed, and that its \
            clock is right
            """
        case 404, 405: "Check the path of the URL, and that it accepts POST"
        case 409: "Only merge.prepared may be answered with 409"
        case 410: "Concord turns an endpoint off that answers a real event so"
        case 500...: "Check the log of the receiver"
        default: "Answer 2xx, also to types that the receiver does not know"
        }
    }

    private static func advice(_ failure: ProviderUnavailable) -> String {
        switch failure {
        case .timedOut: "no answer in time. Answer first and process later, or raise limits.provider_call_timeout"
        case .addressNotAllowed: "its URL is not allowed. Use an https URL"
        case .networkNotAllowed:
            "its address is in a private network. To allow these: providers.allow_private_networks"
        case .unreachable, .redirected, .unexpectedStatus, .answerTooLarge, .malformedAnswer, .issuerMismatch,
            .noUsableKeys, .tooManyCalls, .suspended:
            """
            no connection. Check that the name resolves on this machine, that a firewall lets Concord out, and that a \
            public authority issued the certificate (or name its own: providers.certificate_authorities)
            """
        }
    }
}

import ArgumentParser

/// `concord healthcheck`: the readiness of a server, for images without an HTTP client.
struct HealthcheckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Check that the server on this machine is ready.",
        discussion: """
            Asks /readyz of the server that the same configuration starts, within 2 seconds, and prints one line. Exits \
            with 0 if the server is ready, and with 1 if it is not or does not answer. On loopback, the certificate of \
            the server is not verified.

            In a Dockerfile: HEALTHCHECK CMD ["concord", "healthcheck"]

            EXAMPLES
              concord healthcheck
              concord healthcheck --url http://127.0.0.1:8080
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(
        help: ArgumentHelp(
            "Base URL of the server to ask, such as https://id.example.com. Default: the configured listener.",
            valueName: "url"
        )
    )
    var url: String?

    func validate() throws {
        if let url, ReadinessProbe(base: url) == nil {
            throw ValidationError("--url: give an http or https URL without user name, such as http://127.0.0.1:8080")
        }
    }

    func perform() async throws {
        let probe =
            try url.map(ReadinessProbe.init(base:)) ?? ReadinessProbe(ListenConfiguration(try options.sources()))
        guard let probe else {
            throw StartupFailure(
                "listen.port is 0, so the port of the server is not known; give --url, or set listen.admin_socket",
                .badConfiguration
            )
        }
        if let problem = await probe.problem() {
            complain(problem)
            throw ExitCode.answerIsNo
        }
        try say("ready")
    }
}

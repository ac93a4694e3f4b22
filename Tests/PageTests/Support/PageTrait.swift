import AccountTestSupport
import Subprocess
import Testing

/// Gives the tests of a suite one development server and one `chromedriver`, and ends both after the last of them.
struct PageTrait: SuiteTrait, TestScoping {
    struct Scene: Sendable {
        let server: DevServer
        let browsers: Browsers
    }

    @TaskLocal static var current: Scene?

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await DevServer.run { server in
            try await Self.withDriver { port in
                let browsers = Browsers(driver: "http://127.0.0.1:\(port)")
                let scene = Scene(server: server, browsers: browsers)
                try await Self.$current.withValue(scene) { try await function() }
                try await browsers.closeAll()
            }
        }
    }

    /// Starts `chromedriver` and runs `body` with its port.
    ///
    /// It takes a port that is free on `::1` and ends when another program has the same one on `127.0.0.1`, which
    /// among tests that listen there happens now and then.
    private static func withDriver(_ body: @Sendable (Int) async throws -> Void) async throws {
        for remaining in (0..<10).reversed() {
            do {
                return try await RunningProgram.run(
                    .name("chromedriver"),
                    ["--port=0"],
                    recognizing: { (line: String) -> Int? in
                        guard line.contains("started successfully on port") else { return nil }
                        return line.split(separator: " ").last.flatMap { Int($0.prefix { $0.isNumber }) }
                    },
                    body
                )
            } catch let error as RunningProgram.NeverReady
                where remaining > 0 && error.output.contains("port not available")
            {}
        }
    }
}

extension Trait where Self == PageTrait {
    /// A development server and a driver of browsers for the suite.
    static var page: Self { PageTrait() }
}

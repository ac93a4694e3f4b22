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
            try await RunningProgram.run(
                .name("chromedriver"),
                ["--port=0"],
                recognizing: { (line: String) -> Int? in
                    guard line.contains("started successfully on port") else { return nil }
                    return line.split(separator: " ").last.flatMap { Int($0.prefix { $0.isNumber }) }
                },
                { port in
                    let browsers = Browsers(driver: "http://127.0.0.1:\(port)")
                    let scene = Scene(server: server, browsers: browsers)
                    try await Self.$current.withValue(scene) { try await function() }
                    try await browsers.closeAll()
                }
            )
        }
    }
}

extension Trait where Self == PageTrait {
    /// A development server and a driver of browsers for the suite.
    static var page: Self { PageTrait() }
}

import ArgumentParser
import Glibc

/// `concord-demo play`: plays the story, one line for each step.
struct PlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Play the story against a development server and an issuer; exits with 1 at the first wrong step."
    )

    @Option(help: ArgumentHelp("A development server.", valueName: "url"))
    var concord: String

    @Option(help: ArgumentHelp("A running `concord-demo issuer`.", valueName: "url"))
    var issuer: String

    @Option(help: ArgumentHelp("The server's project.", valueName: "project-id"))
    var project = "demo-concord"

    func run() async throws {
        var story = Story(concord: HTTPCaller(url: concord), issuer: HTTPCaller(url: issuer), project: project)
        print("Ada, her password, and a provider that has not checked her address (\(concord), \(issuer))")
        for (index, step) in Step.all.enumerated() {
            let number = index + 1
            do {
                let happened = try await step.play(&story)
                show(number, "✓", "\(step.name): \(happened)")
            } catch let surprise as UnexpectedAnswer {
                show(number, "✗", "\(step.name): expected \(surprise.expected), but got \(surprise.came)")
                throw ExitCode(1)
            } catch {
                show(number, "✗", "\(step.name): expected an answer, but got \(error)")
                throw ExitCode(1)
            }
        }
        print("\(Step.all.count) of \(Step.all.count) steps went as they should.")
    }

    private func show(_ number: Int, _ mark: String, _ text: String) {
        print(number < 10 ? "  \(number) \(mark) \(text)" : " \(number) \(mark) \(text)")
        fflush(nil)
    }
}

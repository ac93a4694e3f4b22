import AccountTestSupport
import Foundation
import FoundationNetworking

/// `concord dev`, the real program, in a separate process.
struct DevServer {
    let process: Process
    let url: String
    /// The text that it printed when it was ready.
    let banner: String

    /// Starts it on a free port and returns once it has said that it is ready.
    ///
    /// `errors`: the file for its standard error.
    static func start(dataDirectory: String, errors: FileHandle? = nil) async throws -> DevServer {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Repository.root + "/.build/debug/concord")
        process.currentDirectoryURL = URL(fileURLWithPath: Repository.root)
        process.arguments = ["dev", "--port", "0", "--data-dir", dataDirectory]
        process.environment = Repository.environment
        let output = Pipe()
        process.standardOutput = output
        process.standardError = errors ?? FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        var said = ""
        // Nothing more to read means that the process has closed its output, which it does by ending.
        while case let bytes = output.fileHandleForReading.availableData, !bytes.isEmpty {
            said += String(decoding: bytes, as: UTF8.self)
            for line in said.split(separator: "\n") where said.contains("Stop it") {
                let words = line.split(separator: " ")
                if words.first == "URL", let url = words.last {
                    return DevServer(process: process, url: String(url), banner: said)
                }
            }
        }
        process.waitUntilExit()
        throw DevServerFailure(description: "ended with \(process.terminationStatus) before it was ready")
    }

    /// The error text and the exit status of a run that does not start.
    static func failure(_ arguments: [String]) throws -> (status: Int32, error: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Repository.root + "/.build/debug/concord")
        process.currentDirectoryURL = URL(fileURLWithPath: Repository.root)
        process.arguments = ["dev"] + arguments
        process.environment = Repository.environment
        let error = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = error
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let said = error.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }

    /// Sends `signal` and returns the exit status, or the signal's negative number when it ended the process.
    func stop(_ signal: Int32) -> Int32 {
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    /// The output of `script` in a shell without the program in its path.
    func shell(_ script: String) throws -> String {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", script]
        shell.environment = ["PATH": "/usr/bin:/bin"]
        let output = Pipe()
        shell.standardOutput = output
        shell.standardError = output
        shell.standardInput = FileHandle.nullDevice
        try shell.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        shell.waitUntilExit()
        return String(decoding: said, as: UTF8.self)
    }

    func post(_ path: String, _ body: [String: Any]) async throws -> [String: Any] {
        guard let url = URL(string: "\(url)\(path)?key=any") else { throw DevServerFailure(description: "no URL") }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        let (data, _) = try await URLSession.shared.data(for: request)
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }
}

extension DevServer {
    /// The text behind `word` in the banner.
    func bannerLine(_ word: String) -> String? {
        banner.split(separator: "\n").map { $0.split(separator: " ") }.first { $0.first.map(String.init) == word }
            .map { $0.dropFirst().joined(separator: " ") }
    }
}

struct DevServerFailure: Error, CustomStringConvertible {
    let description: String
}

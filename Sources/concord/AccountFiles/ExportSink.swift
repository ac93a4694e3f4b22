import ArgumentParser
import Glibc

/// The destination of an export. A file has another name until it is complete.
struct ExportSink: Sendable {
    private let descriptor: Int32
    private let path: String?

    private var partial: String? { path.map { $0 + ".partial" } }

    init(path: String?) throws {
        self.path = path
        guard let path else {
            descriptor = STDOUT_FILENO
            return
        }
        descriptor = open(path + ".partial", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StartupFailure("\(path).partial: \(String(cString: strerror(errno)))", .badConfiguration)
        }
    }

    /// A pipe that is ready accepts this number of bytes at once (`PIPE_BUF`), so that no write blocks.
    private static let pipeBytes = 4096
    private static let waitMilliseconds: Int32 = 100

    /// - `check`: runs while no reader takes the output; throws to stop.
    func write(_ bytes: ArraySlice<UInt8>, _ check: () throws -> Void) throws {
        if let path { return try writeAll(bytes, to: descriptor, named: path) }
        var rest = bytes
        while !rest.isEmpty {
            try waitForReader(check)
            try writeAll(rest.prefix(Self.pipeBytes), to: descriptor, named: "standard output")
            rest = rest.dropFirst(Self.pipeBytes)
        }
    }

    private func waitForReader(_ check: () throws -> Void) throws {
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&output, 1, Self.waitMilliseconds) == 0 { try check() }
    }

    func finish() throws {
        guard let path, let partial else { return }
        guard fsync(descriptor) == 0, close(descriptor) == 0, rename(partial, path) == 0 else {
            throw OutputFailure(path)
        }
    }

    func discard() {
        if let partial { unlink(partial) }
    }
}

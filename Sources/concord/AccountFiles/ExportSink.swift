import ArgumentParser
import Glibc

/// Where an export goes. A file has another name until it is whole.
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

    /// So many bytes a pipe takes at once where it takes any (`PIPE_BUF`), so that waiting for it can be broken off.
    private static let pipeBytes = 4096
    private static let waitMilliseconds: Int32 = 100

    /// - `check`: asked while nobody reads what is written; throws to stop.
    func write(_ bytes: ArraySlice<UInt8>, _ check: () throws -> Void) throws {
        var rest = bytes
        while !rest.isEmpty {
            if path == nil { try waitForReader(check) }
            let most = path == nil ? Self.pipeBytes : rest.count
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, min(most, $0.count)) }
            if written < 0, errno == EINTR || errno == EAGAIN { continue }
            guard written > 0 else { throw failure(path ?? "standard output") }
            rest = rest.dropFirst(written)
        }
    }

    private func waitForReader(_ check: () throws -> Void) throws {
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&output, 1, Self.waitMilliseconds) == 0 { try check() }
    }

    func finish() throws {
        guard let path, let partial else { return }
        guard fsync(descriptor) == 0, close(descriptor) == 0, rename(partial, path) == 0 else { throw failure(path) }
    }

    func discard() {
        if let partial { unlink(partial) }
    }

    private func failure(_ name: String) -> StartupFailure {
        StartupFailure("\(name): \(String(cString: strerror(errno)))", .cannotWrite)
    }
}

import Glibc
import Testing

@testable import concord

/// The thread that writes the log of a server.
struct LogWriterTests {
    /// A pipe whose reader reads only when the test does.
    private final class Pipe: Sendable {
        let readEnd: Int32
        let writeEnd: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            (readEnd, writeEnd) = (ends[0], ends[1])
        }

        deinit {
            close(readEnd)
            close(writeEnd)
        }

        /// Reads whole lines until `isEnough` is true.
        func lines(until isEnough: ([String]) -> Bool) -> [String] {
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65_536)
            while true {
                let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
                if bytes.last == UInt8(ascii: "\n"), isEnough(lines) { return lines }
                let count = read(readEnd, &part, part.count)
                guard count > 0 else { return lines }
                bytes += part.prefix(count)
            }
        }

        func lines(until line: String) -> [String] { lines { $0.contains(line) } }
    }

    private static func line(_ text: String) -> [UInt8] { Array("\(text)\n".utf8) }

    @Test func `lines below the bound are written in their order, and none is lost`() throws {
        let pipe = try Pipe()
        let writer = LogWriter(.text, descriptor: pipe.writeEnd)
        // Below the bound, and more than the pipe holds.
        let count = 20_000
        for number in 0..<count { writer.append(Self.line("line \(number)"), isUrgent: number % 3 == 0) }
        writer.append(Self.line("end"), isUrgent: false)
        #expect(pipe.lines(until: "end").dropLast() == (0..<count).map { "line \($0)" }[...])
        #expect(writer.droppedCount(.full) == 0 && writer.droppedCount(.failed) == 0)
        writer.close()
    }

    @Test func `lines of several threads are written whole`() async throws {
        let pipe = try Pipe()
        let writer = LogWriter(.text, descriptor: pipe.writeEnd)
        await withTaskGroup(of: Void.self) { group in
            for name in ["a", "b", "c", "d"] {
                group.addTask {
                    for number in 0..<200 { writer.append(Self.line("\(name) \(number)"), isUrgent: false) }
                }
            }
        }
        writer.append(Self.line("end"), isUrgent: false)
        let lines = pipe.lines(until: "end")
        for name in ["a", "b", "c", "d"] {
            #expect(lines.filter { $0.hasPrefix(name) } == (0..<200).map { "\(name) \($0)" })
        }
        writer.close()
    }

    @Test func `if the reader stops, lines are dropped and counted, warnings last, and the log reports the number`()
        throws
    {
        let pipe = try Pipe()
        let writer = LogWriter(
            .text,
            descriptor: pipe.writeEnd,
            limits: LogWriter.Limits(bytesMax: 300_000, urgentBytes: 10_000)
        )
        // The pipe takes 64 KiB, so more than the bound has to wait.
        let padding = String(repeating: "x", count: 90)
        let sent = 5000
        for number in 0..<sent { writer.append(Self.line("info \(number) \(padding)"), isUrgent: false) }
        let dropped = writer.droppedCount(.full)
        #expect(dropped > 0 && dropped < sent)
        writer.append(Self.line("warning"), isUrgent: true)
        #expect(writer.droppedCount(.full) == dropped)
        for _ in 0..<sent { writer.append(Self.line("warning \(padding)"), isUrgent: true) }
        let all = writer.droppedCount(.full)
        #expect(all > dropped, "the reserve has a bound, too")

        // Each report counts the lines since the one before.
        func reported(_ lines: [String]) -> Int {
            lines.compactMap { line in
                line.firstMatch(of: #/ warning log lines were dropped count=([0-9]+) /#).flatMap { Int($0.output.1) }
            }.reduce(0, +)
        }
        let lines = pipe.lines { reported($0) == all }
        #expect(reported(lines) == all)
        #expect(lines.count { $0.hasPrefix("info") } == sent - dropped)
        #expect(lines.contains("warning"))
        writer.append(Self.line("info again"), isUrgent: false)
        #expect(pipe.lines(until: "info again") == ["info again"])
        writer.close()
    }

    @Test func `on a full disk, lines are dropped and counted, and callers do not wait`() throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        defer { close(full) }
        let writer = LogWriter(.json, descriptor: full)
        for number in 0..<100 { writer.append(Self.line("line \(number)"), isUrgent: false) }
        writer.flush(within: .seconds(60))
        #expect(writer.droppedCount(.failed) == 100)
        #expect(writer.droppedCount(.full) == 0)
        writer.close()
    }

    @Test func `once a full disk has room, the log says how many lines it lost, and continues`() throws {
        let (full, pipe) = (open("/dev/full", O_WRONLY | O_CLOEXEC), try Pipe())
        try #require(full >= 0)
        let descriptor = dup(full)
        defer {
            close(full)
            close(descriptor)
        }
        let writer = LogWriter(.text, descriptor: descriptor)
        writer.append(Self.line("lost"), isUrgent: true)
        writer.flush(within: .seconds(60))
        try #require(dup2(pipe.writeEnd, descriptor) >= 0)
        writer.append(Self.line("end"), isUrgent: false)
        let lines = pipe.lines(until: "end")
        #expect(lines.count == 2 && lines.last == "end")
        #expect(lines[0].hasSuffix("log lines were dropped count=1 reason=\"No space left on device\""), "\(lines)")
        writer.close()
    }

    @Test func `once a full disk has room, the log reports lost lines without waiting for the next line`() throws {
        let (full, pipe) = (open("/dev/full", O_WRONLY | O_CLOEXEC), try Pipe())
        try #require(full >= 0)
        let descriptor = dup(full)
        defer {
            close(full)
            close(descriptor)
        }
        let writer = LogWriter(
            .text,
            descriptor: descriptor,
            limits: LogWriter.Limits(bytesMax: 100, urgentBytes: 0)
        )
        writer.append(Self.line("lost"), isUrgent: true)
        writer.flush(within: .seconds(60))
        // The bound is not the reason: the line had no chance, because writes fail.
        writer.append(Self.line(String(repeating: "x", count: 200)), isUrgent: true)
        #expect(writer.droppedCount(.failed) == 2 && writer.droppedCount(.full) == 0)
        try #require(dup2(pipe.writeEnd, descriptor) >= 0)
        let lines = pipe.lines { $0.contains { $0.contains("log lines were dropped") } }
        #expect(lines.count == 1, "\(lines)")
        #expect(lines[0].hasSuffix("log lines were dropped count=2 reason=\"No space left on device\""), "\(lines)")
        writer.append(Self.line("end"), isUrgent: true)
        #expect(pipe.lines(until: "end") == ["end"])
        writer.close()
    }

    @Test func `a reader that is gone ends no process`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        defer { close(ends[1]) }
        let writer = LogWriter(.text, descriptor: ends[1])
        writer.append(Self.line("line"), isUrgent: true)
        writer.flush(within: .seconds(60))
        #expect(writer.droppedCount(.failed) == 1)
        writer.close()
    }

    @Test func `the end does not wait for a reader that has stopped`() throws {
        let pipe = try Pipe()
        let writer = LogWriter(.text, descriptor: pipe.writeEnd)
        writer.append([UInt8](repeating: UInt8(ascii: "x"), count: 200_000), isUrgent: true)
        let duration = ContinuousClock().measure { writer.flush(within: .milliseconds(50)) }
        #expect(duration >= .milliseconds(50))
        writer.append(Self.line("\nend"), isUrgent: false)
        _ = pipe.lines(until: "end")
        writer.close()
    }
}

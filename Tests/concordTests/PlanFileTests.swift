import AccountLinking
import AccountOperations
import Foundation
import JSON
import Testing

@testable import concord

/// Files of plans: a written plan is read back, and each mistake is reported with its line.
struct PlanFileTests {
    private static let header = #"""
        {"type":"plan","format":1,"plan":"01990000-0000-7000-8000-000000000001","project":"demo","madeAt":"2026-11-22T08:00:00.000Z"}
        """#

    private static func operation(_ number: Int, _ user: String = "ann") -> String {
        #"{"type":"operation","number":\#(number),"rule":"disabled-with-live-sessions","tenant":"","user":"\#(user)","#
            + #""version":3,"does":"end all sessions","operation":{"do":"end-sessions"},"evidence":{}}"#
    }

    private static func end(_ count: Int) -> String { #"{"type":"end","operations":\#(count)}"# }

    private struct Read {
        var steps: [PlannedStep] = []
        var lines: [Int] = []
        var count: Int64?
        var end: AccountFileError?
    }

    private func read(_ bytes: [UInt8]) throws -> Read {
        let url = FileManager.default.temporaryDirectory.appending(path: "plan-\(UUID().uuidString)")
        try Data(bytes).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        var all = Read()
        do throws(AccountFileError) {
            let reader = try PlanReader(path: url.path())
            while let line = try reader.next() {
                all.steps.append(line.step)
                all.lines.append(line.number)
            }
            all.count = reader.operationCount
        } catch {
            all.end = error
        }
        return all
    }

    private func read(_ lines: [String]) throws -> Read { try read(Array(lines.joined(separator: "\n").utf8)) }

    @Test func `operations are read in order, without deleted or commented ones`() throws {
        let all = try read([
            "\u{FEFF}" + Self.header, "# reviewed by Ann", Self.operation(1), "", "#" + Self.operation(2), "  \r",
            Self.operation(4, "bob") + "\r", Self.end(5), "", "# the end",
        ])
        #expect(all.end == nil && all.count == 5)
        #expect(all.lines == [3, 7] && all.steps.map(\.number) == [1, 4])
        #expect(
            all.steps.first
                == PlannedStep(
                    number: 1,
                    rule: "disabled-with-live-sessions",
                    tenant: .project,
                    user: try #require(UserID("ann")),
                    version: 3,
                    repair: .endSessions
                )
        )
        #expect(try read([Self.header, Self.end(0)]).count == 0)
    }

    private static let mistakes: [(lines: [String], line: Int, text: String)] = [
        ([], 1, "is empty"), (["# nothing"], 1, "is empty"),
        ([operation(1), end(1)], 1, "is not an audit plan"), (["{}"], 1, "is not an audit plan"),
        (["\"plan\""], 1, "has a line that is not a JSON object"),
        ([header.replacing("\"format\":1", with: "\"format\":2"), end(0)], 1, "has format 2"),
        ([header.replacing("01990000", with: "zzzz"), end(0)], 1, "has a header without a plan"),
        ([header.replacing("2026-11-22", with: "yesterday"), end(0)], 1, "has a header without a plan"),
        ([header], 1, "is incomplete"), ([header, operation(1)], 2, "is incomplete"),
        ([header, operation(1), String(end(1).dropLast(3))], 3, "has a line that is not a JSON object"),
        ([header, operation(1), operation(1), end(2)], 3, "has operation 1 twice, or out of order"),
        ([header, operation(2), operation(1), end(2)], 3, "has operation 1 twice, or out of order"),
        ([header, operation(1), operation(2), end(1)], 4, "has more operations than it says"),
        ([header, operation(1), end(1), operation(2)], 3, "continues after its last line"),
        ([header, header, end(0)], 2, "has a second header"),
        ([header, "{\"type\":\"note\"}", end(0)], 2, "has a line of an unknown type"),
        ([header, operation(0), end(1)], 2, "without a number"),
        (
            [header, operation(1).replacing("\"number\":1", with: "\"number\":3000000000"), end(1)], 2,
            "without a number"
        ),
        ([header, operation(1).replacing("live-sessions", with: "dead-sessions"), end(1)], 2, "unknown rule"),
        ([header, operation(1).replacing("\"ann\"", with: "\"\""), end(1)], 2, "names no account"),
        ([header, operation(1).replacing("\"tenant\":\"\"", with: "\"tenant\":null"), end(1)], 2, "names no account"),
        (
            [header, operation(1).replacing("\"version\":3", with: "\"version\":\"3\""), end(1)], 2,
            "version is not a number"
        ),
        (
            [header, operation(1).replacing("\"version\":3", with: "\"version\":0"), end(1)], 2,
            "version is not a number"
        ),
        ([header, operation(1).replacing("end-sessions", with: "drop-table"), end(1)], 2, "does not know"),
        (
            [header, operation(1).replacing("\"end-sessions\"", with: "\"end-sessions\",\"force\":true"), end(1)], 2,
            "does not know"
        ),
        ([header, "\u{0}", end(0)], 2, "has a line that is not a JSON object"),
        ([header, "{\"type\":\"operation\"", end(1)], 2, "has a line that is not a JSON object"),
        ([header, String(repeating: " ", count: 70_000), end(0)], 2, "more than 65536 bytes"),
        (
            [header, "{\"a\":" + String(repeating: "[", count: 60_000), end(0)], 2,
            "has a line that is not a JSON object"
        ),
    ]

    @Test func `a mistake in a file is reported with its line, before anything is applied`() throws {
        for (lines, line, text) in Self.mistakes {
            let all = try read(lines)
            guard case .broken(let reported, let place)? = all.end else {
                Issue.record("\(text): \(all)")
                continue
            }
            #expect(reported.contains(text) && place == line, "\(reported), line \(place)")
        }
        let header = Array(Self.header.utf8)
        for (bytes, line) in [([0xFF, 0xFE, 0x7B, 0x00], 1), (header + [0x0A, 0xC3, 0x28, 0x0A], 2)] as [([UInt8], Int)]
        {
            guard case .broken(let reported, let place)? = try read(bytes).end else {
                Issue.record("line \(line)")
                continue
            }
            #expect(reported == "is not in UTF-8" && place == line)
        }
    }

    @Test func `a truncated file is never accepted as a complete one`() throws {
        let whole = Array(
            [Self.header, Self.operation(1), Self.operation(2), Self.end(2)].joined(separator: "\n").utf8
        )
        for length in whole.indices { #expect(try read(Array(whole[..<length])).end != nil, "\(length) bytes") }
        #expect(try read(whole).end == nil)
    }

    @Test func `each repair is read back as it was written, and other lines are refused`() {
        let cutoff = Timestamp(millisecondsSinceEpoch: 1_800_000_000_123)
        var repairs: [Repair] = [
            .claim(.email), .claim(.phone), .claim(.federated(.google)), .unproveAddress, .endSessions, .forgetNumber,
            .release(kind: "federated", key: "google.com\u{1F}\"\n\u{1F600}"),
            .deleteOverdue(.conflicts, endedBefore: cutoff), .deleteOverdue(.sessions, endedBefore: cutoff),
        ]
        repairs += Repair.OrphanTable.allCases.map { .deleteRecords($0) }
        for method in [.password, .emailLink, .phone, .provider(.google)] as [SignInMethod] {
            repairs += [.forgetMethod(method), .recordMethod(method)]
            repairs += [true, false].map { .suspend(method, endsSessions: $0) }
        }
        for kind in EmailCodeRecord.Kind.allCases {
            repairs += [.voidCodes(kind, madeBefore: cutoff), .deleteOverdue(.codes(kind), endedBefore: cutoff)]
        }
        for repair in repairs {
            let json = repair.json
            #expect(Repair(json: json) == repair)
            for name in json.keys {
                var less = json
                less[name] = nil
                #expect(Repair(json: less) == nil, "\(repair) without \(name)")
                less[name] = .integer(7)
                #expect(Repair(json: less) == nil, "\(repair) with a number for \(name)")
            }
            #expect(Repair(json: json.merging(["more": .bool(true)]) { $1 }) == nil)
        }
        #expect(Set(repairs.map(\.json)).count == repairs.count)
    }
}

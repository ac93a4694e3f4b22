import AccountLinking
import AccountOperations
import AccountStore
import JSON
import Synchronization

/// The file of a plan: a JSON object on each line. The first describes the plan, the last has the number of operations.
/// A person may delete the other lines, or comment them out with `#`.
enum PlanFile {
    /// The number of the format. It grows with every change that older versions would misread.
    static let format: Int64 = 1
    /// Maximum number of bytes of a line.
    static let lineBytesMax = 64 << 10

    /// The first line.
    struct Header: Sendable, Hashable {
        var plan: AppliedPlan.ID
        var project: String
        var madeAt: Timestamp
    }
}

/// Writes a plan to standard output, one operation at a time.
final class PlanWriter: Sendable {
    private let header: PlanFile.Header
    private let style: Style
    private let count = Mutex<Int64>(0)

    /// Maximum number of characters of evidence: longer texts do not help a reader.
    private static let textMax = 500

    init(_ header: PlanFile.Header, showsIdentifiers: Bool) {
        self.header = header
        style = Style(showsIdentifiers: showsIdentifiers)
    }

    /// `options`: the options of the command. `terms`: the terms of the project.
    func begin(options: JSONValue, terms: AuditTerms) throws {
        try line { writer in
            writer.field("type", "plan")
            writer.field("format", PlanFile.format)
            writer.field("plan", header.plan.text)
            writer.field("project", header.project)
            writer.field("madeAt", RFC3339.text(header.madeAt))
            writer.field("program", ConcordVersion.current)
            writer.field("options", options)
            writer.field("terms") { writer in
                writer.field("policyVersion", terms.policy.version)
                writer.field("emailChangeSeconds", terms.emailChangeSeconds)
                writer.field("dormantSeconds", terms.dormantSeconds)
                writer.field("overdueSeconds", terms.overdueSeconds)
            }
        }
    }

    func write(_ repair: Repair, _ proposal: Proposal) throws {
        let number = count.withLock { count in
            count += 1
            return count
        }
        try line { writer in
            writer.field("type", "operation")
            writer.field("number", number)
            writer.field("rule", proposal.finding.rule)
            writer.field("tenant", proposal.finding.tenant.rawValue)
            writer.field("user", proposal.user.rawValue)
            writer.field("version", proposal.version)
            writer.field("does", repair.words)
            writer.field("operation", .object(repair.json))
            writer.field("evidence") { writer in
                for item in proposal.finding.evidence.items {
                    let text = style.text(item.value)
                    writer.field(item.name, text.count > Self.textMax ? text.prefix(Self.textMax) + "…" : text)
                }
            }
        }
    }

    /// Writes the last line, without which a plan cannot be applied.
    func end() throws {
        let count = count.withLock { $0 }
        try line { writer in
            writer.field("type", "end")
            writer.field("operations", count)
        }
        try flushOutput()
    }

    private func line(_ body: (inout JSONWriter) -> Void) throws {
        try say(JSONWriter.text(body))
    }
}

/// Reads a plan, one operation at a time, in little memory.
final class PlanReader {
    /// An operation and its line.
    struct Line: Sendable {
        var number: Int
        var step: PlannedStep
    }

    let header: PlanFile.Header
    /// Number of operations of the original plan, after the last line was read.
    private(set) var operationCount: Int64?
    private let bytes: ByteReader
    private var lastNumber: Int64 = 0

    /// - Throws: `AccountFileError` with the line.
    init(path: String) throws(AccountFileError) {
        bytes = try ByteReader(path: path)
        try bytes.skipByteOrderMark()
        guard let (first, object) = try Self.nextObject(bytes) else { throw .broken("is empty", line: 1) }
        guard object["type"]?.string == "plan", let format = object["format"]?.integer else {
            throw .broken("is not an audit plan", line: first)
        }
        guard format == PlanFile.format else {
            throw .broken("has format \(format), and this program reads \(PlanFile.format)", line: first)
        }
        guard let plan = object["plan"]?.string.flatMap({ AppliedPlan.ID(text: $0) }),
            let project = object["project"]?.string,
            let madeAt = object["madeAt"]?.string.flatMap(RFC3339.instant)
        else { throw .broken("has a header without a plan, a project or a time", line: first) }
        header = PlanFile.Header(plan: plan, project: project, madeAt: madeAt)
    }

    /// `nil` after the last operation.
    func next() throws(AccountFileError) -> Line? {
        if operationCount != nil { return nil }
        guard let (number, object) = try Self.nextObject(bytes) else {
            throw .broken("is incomplete: its last line is missing", line: bytes.line)
        }
        switch object["type"]?.string {
        case "operation"?:
            let step = try Self.step(object, line: number)
            guard step.number > lastNumber else {
                throw .broken("has operation \(step.number) twice, or out of order", line: number)
            }
            lastNumber = step.number
            return Line(number: number, step: step)
        case "end"?:
            guard let count = object["operations"]?.integer, count >= lastNumber else {
                throw .broken("has more operations than it says", line: number)
            }
            guard try Self.nextObject(bytes) == nil else {
                throw .broken("continues after its last line", line: number)
            }
            operationCount = count
            return nil
        case "plan"?: throw .broken("has a second header", line: number)
        default: throw .broken("has a line of an unknown type", line: number)
        }
    }

    private static func step(_ object: [String: JSONValue], line: Int) throws(AccountFileError) -> PlannedStep {
        guard let number = object["number"]?.integer, (1...Int64(Int32.max)).contains(number) else {
            throw .broken("has an operation without a number", line: line)
        }
        guard let rule = object["rule"]?.string, AuditRule.named(rule) != nil else {
            throw .broken("has an operation of an unknown rule", line: line)
        }
        guard let tenant = object["tenant"]?.string, let user = object["user"]?.string.flatMap(UserID.init) else {
            throw .broken("has an operation that names no account", line: line)
        }
        let version = object["version"]
        guard version == nil || version == .null || version?.integer.map({ $0 >= 1 }) == true else {
            throw .broken("has an operation whose version is not a number", line: line)
        }
        guard let repair = object["operation"]?.object.flatMap(Repair.init(json:)) else {
            throw .broken("has an operation that this program does not know", line: line)
        }
        return PlannedStep(
            number: number,
            rule: rule,
            tenant: TenantID(tenant),
            user: user,
            version: version?.integer,
            repair: repair
        )
    }

    /// Returns the next line that is neither empty nor a comment, and its number; `nil` at the end.
    private static func nextObject(
        _ bytes: ByteReader
    ) throws(AccountFileError) -> (line: Int, object: [String: JSONValue])? {
        while try bytes.peek() != nil {
            let number = bytes.line
            let isComment = try bytes.peek() == UInt8(ascii: "#")
            var line: [UInt8] = []
            while let byte = try bytes.next(), byte != UInt8(ascii: "\n") {
                if isComment { continue }
                line.append(byte)
                guard line.count <= PlanFile.lineBytesMax else {
                    throw .broken("has a line of more than \(PlanFile.lineBytesMax) bytes", line: number)
                }
            }
            if line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { continue }
            guard String(validating: line, as: UTF8.self) != nil else {
                throw .broken("is not in UTF-8", line: number)
            }
            guard let object = try? JSONValue(parsing: line).object else {
                throw .broken("has a line that is not a JSON object", line: number)
            }
            return (number, object)
        }
        return nil
    }
}

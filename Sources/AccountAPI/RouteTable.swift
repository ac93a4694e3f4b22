import HTTPTypes
import JSON

/// A table of targets by method and path. Built once; safe to use from any task.
struct RouteTable<Target: Sendable>: Sendable {
    private typealias Targets = [HTTPRequest.Method: Target]

    private enum Segment: Sendable, Hashable {
        case literal(String)
        /// `{name}`: any one segment. `{name}:verb`: any segment that ends with `:verb`.
        case capture(name: String, rest: String)

        init(_ text: String) {
            guard text.hasPrefix("{"), let end = text.firstIndex(of: "}") else {
                self = .literal(text)
                return
            }
            self = .capture(
                name: String(text[text.index(after: text.startIndex)..<end]),
                rest: String(text[text.index(after: end)...])
            )
        }

        /// Number of bytes in the literal segments.
        var literalLength: Int {
            switch self {
            case .literal(let text): text.utf8.count
            case .capture(_, let rest): rest.utf8.count
            }
        }
    }

    private struct Pattern: Sendable {
        let segments: [Segment]
        var targets: Targets
    }

    /// Targets by path, for paths without captures.
    private var literals: [String: Targets] = [:]
    /// Paths with captures, by number of segments. The most specific path is first.
    private var patterns: [Int: [Pattern]] = [:]

    /// `path`: segments after slashes. A segment that begins with a name in braces matches any segment.
    mutating func add(_ method: HTTPRequest.Method, _ path: String, _ target: Target) {
        let segments = Self.segments(of: path).map(Segment.init)
        guard path.contains("{") else {
            literals[path, default: [:]][method] = target
            return
        }
        var patterns = patterns[segments.count] ?? []
        if let index = patterns.firstIndex(where: { $0.segments == segments }) {
            patterns[index].targets[method] = target
        } else {
            patterns.append(Pattern(segments: segments, targets: [method: target]))
        }
        func literalLength(_ pattern: Pattern) -> Int { pattern.segments.reduce(0) { $0 + $1.literalLength } }
        self.patterns[segments.count] = patterns.sorted { literalLength($0) > literalLength($1) }
    }

    /// The target with the captured segments by name; `nil` if no route matches. HEAD is answered as GET.
    func find(_ method: HTTPRequest.Method, _ path: String) -> (target: Target, captures: [String: String])? {
        let method = method == .head ? .get : method
        if let targets = literals[path] { return targets[method].map { ($0, [:]) } }
        guard let decoded = Self.decodedSegments(of: path) else { return nil }
        if let targets = literals["/" + decoded.joined(separator: "/")] { return targets[method].map { ($0, [:]) } }
        for pattern in patterns[decoded.count] ?? [] {
            guard let target = pattern.targets[method], let captures = Self.match(decoded, pattern.segments) else {
                continue
            }
            return (target, captures)
        }
        return nil
    }

    /// The segments of a path as a client sends it: clients escape unreserved characters, and send two slashes instead of
    /// one. `nil` if an escape is malformed.
    static func decodedSegments(of path: String) -> [String]? {
        let segments = segments(of: path).map { PercentEncoding.decode(Array($0.utf8)[...]) }
        let decoded = segments.compactMap(\.self)
        return decoded.count == segments.count ? decoded : nil
    }

    private static func segments(of path: String) -> [String] {
        path.split(separator: "/").map(String.init)
    }

    private static func match(_ segments: [String], _ pattern: [Segment]) -> [String: String]? {
        var captures: [String: String] = [:]
        for (segment, part) in zip(segments, pattern) {
            switch part {
            case .literal(let text): guard segment == text else { return nil }
            case .capture(let name, let rest):
                guard segment.hasSuffix(rest), segment != rest else { return nil }
                captures[name] = String(segment.dropLast(rest.count))
            }
        }
        return captures
    }
}

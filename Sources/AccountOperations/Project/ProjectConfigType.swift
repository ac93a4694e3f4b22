import AccountLinking
import JSON

/// Type of a field of the project configuration: how it is parsed and stored.
///
/// The wire also allows integers as decimal strings and enumerations as numbers. The stored value has one form only.
package indirect enum ProjectConfigType: Sendable, Hashable {
    case bool
    /// 32 bits on the wire: stored and shown as a number.
    case integer(ClosedRange<Int64>)
    /// 0 for no limit, or a number in the range. Otherwise like `integer`.
    case limit(ClosedRange<Int64>)
    /// 64 bits on the wire: stored and shown as a decimal string.
    case longInteger(ClosedRange<Int64>)
    case decimal(ClosedRange<Double>)
    case text(bytesMax: Int)
    /// A text without control and bidirectional characters.
    case line(bytesMax: Int)
    /// A line without `<` and `>`. The length counts Unicode scalars.
    case plainText(lengthMax: Int)
    /// A colour that can be read on the backgrounds of the scheme (`AccentPalette`).
    case accentColor(BrandingScheme)
    /// An `https` URL, or also a `mailto` address (`BrandingText`).
    case link(allowsMail: Bool)
    /// The digest of a stored image (`ProjectImage`).
    case imageDigest
    /// One of the names, in the order of their numbers. Concord knows the `unavailable` ones but does not implement
    /// them.
    case choice([String], unavailable: Set<String> = [])
    /// A host name in lower case, without scheme, port or path.
    case domain
    /// A host to which codes and sessions may be sent (`AuthorizedDomain`).
    case authorizedDomain
    /// Two capital letters (CLDR).
    case region
    case list(ProjectConfigType, countMax: Int)
    case message([Member])
    /// Test numbers and their codes (docs/guides/phone.md, "Fictional numbers").
    case testPhoneNumbers
    /// Rules of `concord.emailTrust` (`PolicyRuleReader`).
    case emailTrust
    /// Rules of `concord.conflictProofs` (`PolicyRuleReader`).
    case conflictProofs
    /// Exists on the wire but is not implemented. Refused, because it would promise what Concord does not do.
    case unavailable

    package struct Member: Sendable, Hashable {
        let name: String
        let type: ProjectConfigType

        init(_ name: String, _ type: ProjectConfigType) {
            self.name = name
            self.type = type
        }
    }
}

/// A mistake in a configuration that was sent.
package enum ProjectConfigMistake: Sendable, Hashable {
    /// A field has an invalid value. The text names the field and the rule.
    case invalid(String)
    /// A test number or its code is malformed. The text names the field, the number and the rule.
    case testPhoneNumber(String)
    /// The field requests something that Concord does not implement.
    case unavailable(String)

    package var text: String {
        switch self {
        case .invalid(let text), .testPhoneNumber(let text): text
        case .unavailable(let field): "\(field) is not implemented"
        }
    }
}

extension ProjectConfigType {
    static let testPhoneNumbersMax = 10

    /// Parses `value`, which is at `path`.
    /// - Returns: the form to store; `nil` if there is none, with the reasons appended to `mistakes`.
    func read(_ value: JSONValue, at path: String, _ mistakes: inout [ProjectConfigMistake]) -> JSONValue? {
        func refuse(_ rule: String) -> JSONValue? {
            mistakes.append(.invalid("\(path) \(rule)"))
            return nil
        }
        switch self {
        case .bool:
            switch value {
            case .bool: return value
            case .string("true"): return .bool(true)
            case .string("false"): return .bool(false)
            default: return refuse("must be true or false")
            }
        case .integer(let range):
            guard let integer = Self.integer(value), range.contains(integer) else {
                return refuse("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return .integer(integer)
        case .limit(let range):
            guard let integer = Self.integer(value), integer == 0 || range.contains(integer) else {
                return refuse("must be 0, or a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return .integer(integer)
        case .longInteger(let range):
            guard let integer = Self.integer(value), range.contains(integer) else {
                return refuse("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return .string(String(integer))
        case .decimal(let range):
            guard let number = Self.decimal(value), range.contains(number) else {
                return refuse("must be a number from \(range.lowerBound) to \(range.upperBound)")
            }
            return .double(number)
        case .text(let bytesMax):
            guard let text = value.string, text.utf8.count <= bytesMax else {
                return refuse("must be a text of at most \(bytesMax) bytes")
            }
            return value
        case .line(let bytesMax):
            guard let text = value.string, text.utf8.count <= bytesMax, BrandingText.isPlainLine(text) else {
                return refuse("must be one line of at most \(bytesMax) bytes, without invisible characters")
            }
            return value
        case .plainText(let lengthMax):
            guard let text = value.string, (1...lengthMax).contains(text.unicodeScalars.count),
                BrandingText.isPlainText(text)
            else {
                return refuse(
                    "must be one line of 1 to \(lengthMax) characters, without markup or invisible characters"
                )
            }
            return value
        case .accentColor(let scheme):
            guard let color = value.string.flatMap(HexColor.init) else {
                return refuse("must be a colour as #rrggbb")
            }
            do {
                return .string(try AccentPalette(color, in: scheme).accent.text)
            } catch {
                return refuse("\(color.text) \(error.text)")
            }
        case .link(let allowsMail):
            guard let text = value.string,
                BrandingText.isWebLink(text) || allowsMail && BrandingText.isMailLink(text)
            else {
                return refuse("must be \(summary) of at most \(BrandingText.linkBytesMax) ASCII characters")
            }
            return value
        case .imageDigest:
            guard let text = value.string, BrandingText.isDigest(text)
            else { return refuse("must be the SHA-256 of a stored logo, as 64 hexadecimal digits") }
            return value
        case .choice(let names, let unavailable):
            let number = value.integer.flatMap { names.indices.contains(Int(clamping: $0)) ? names[Int($0)] : nil }
            guard let name = number ?? value.string, names.contains(name) else {
                return refuse("must be one of \(names.joined(separator: ", "))")
            }
            guard !unavailable.contains(name) else {
                mistakes.append(.unavailable("\(path) = \(name)"))
                return nil
            }
            return .string(name)
        case .domain:
            guard let text = value.string?.lowercased(), AuthorizedDomain.isHostName(text) else {
                return refuse("must be a host name without scheme, port or path")
            }
            return .string(text)
        case .authorizedDomain:
            guard let domain = value.string.flatMap(AuthorizedDomain.init) else {
                return refuse(
                    "must be a host name without scheme or path, perhaps with a port; *. before it stands for hosts below "
                        + "it, where these have one owner"
                )
            }
            return .string(domain.text)
        case .region:
            guard let text = value.string, text.utf8.count == 2,
                text.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
            else { return refuse("must be a region of two capital letters") }
            return value
        case .list(let element, let countMax):
            guard let elements = value.array, elements.count <= countMax else {
                return refuse("must be a list of at most \(countMax)")
            }
            return .array(
                elements.enumerated().compactMap { element.read($1, at: "\(path)[\($0)]", &mistakes) }
            )
        case .message(let members):
            guard value.object != nil else { return refuse("must be an object") }
            var read: [String: JSONValue] = [:]
            for member in members {
                guard let sent = value.declared(member.name) else { continue }
                read[member.name] = member.type.read(sent, at: "\(path).\(member.name)", &mistakes)
            }
            return .object(read)
        case .testPhoneNumbers:
            return Self.readTestPhoneNumbers(value, at: path, &mistakes)
        case .emailTrust:
            return .array(PolicyRuleReader.emailTrust(value, at: path, &mistakes).map(\.json))
        case .conflictProofs:
            return .array(PolicyRuleReader.conflictProofs(value, at: path, &mistakes).map(\.json))
        case .unavailable:
            mistakes.append(.unavailable(path))
            return nil
        }
    }

    private static func integer(_ value: JSONValue) -> Int64? {
        switch value {
        case .integer(let integer): integer
        case .string(let text): Int64(text)
        default: nil
        }
    }

    private static func decimal(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let integer): Double(integer)
        case .double(let number): number
        case .string(let text): Double(text)
        default: nil
        }
    }

    /// Parses the test numbers. A mistake names its number.
    private static func readTestPhoneNumbers(
        _ value: JSONValue,
        at path: String,
        _ mistakes: inout [ProjectConfigMistake]
    ) -> JSONValue? {
        guard let sent = value.object else {
            mistakes.append(.invalid("\(path) must be an object of numbers and their codes"))
            return nil
        }
        if sent.count > testPhoneNumbersMax {
            mistakes.append(
                .invalid("\(path) may hold at most \(testPhoneNumbersMax) numbers, and \(sent.count) were sent")
            )
        }
        var read: [String: JSONValue] = [:]
        for (number, code) in sent.sorted(by: { $0.key < $1.key }) {
            let shown = number.prefix(32)
            let parsed = PhoneNumber(number)
            if parsed == nil {
                mistakes.append(.testPhoneNumber("\(path): \(shown) is not a phone number in E.164 form"))
            }
            let isCode =
                code.string.map { text in
                    text.utf8.count == 6
                        && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                } ?? false
            if !isCode { mistakes.append(.testPhoneNumber("\(path): the code of \(shown) must be six digits")) }
            if let parsed { read[parsed.rawValue] = code }
        }
        return .object(read)
    }

    /// A few words for the table of fields in the manual.
    var summary: String {
        switch self {
        case .bool: "true or false"
        case .integer(let range), .longInteger(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .limit(let range): "0, or \(range.lowerBound) to \(range.upperBound)"
        case .decimal(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .text(let bytesMax): "text, at most \(bytesMax) bytes"
        case .line(let bytesMax): "one line, at most \(bytesMax) bytes"
        case .plainText(let lengthMax): "one line, at most \(lengthMax) characters"
        case .accentColor: "`#rrggbb` with a contrast of 4.5:1"
        case .link(let allowsMail): allowsMail ? "an `https` URL or a `mailto` address" : "an `https` URL"
        case .imageDigest: "SHA-256 of a stored logo"
        case .choice(let names, let unavailable):
            names.filter { !unavailable.contains($0) }.map { "`\($0)`" }.joined(separator: ", ")
        case .domain: "host name"
        case .authorizedDomain: "host name, or `*.` and a host name; `:` and a port after it"
        case .region: "region of two capital letters"
        case .list(let element, let countMax): "list of at most \(countMax): \(element.summary)"
        case .message(let members):
            "{ " + members.map { "`\($0.name)`: \($0.type.summary)" }.joined(separator: "; ") + " }"
        case .testPhoneNumbers: "at most \(Self.testPhoneNumbersMax) numbers in E.164 form, each with six digits"
        case .emailTrust, .conflictProofs: "at most \(PolicyRuleReader.rulesMax) rules (docs/guides/policy.md)"
        case .unavailable: "refused: not implemented"
        }
    }
}

extension JSONValue {
    /// A member by its declared name or its `snake_case` form; `nil` if it is absent or `null`.
    func declared(_ name: String) -> JSONValue? {
        guard let value = self[name] ?? self[name.snakeCase], value != .null else { return nil }
        return value
    }
}

/// A token that gives access: it encodes as its text, and shows itself nowhere else.
///
/// `description`, string interpolation, `dump` and the debugger show `<secret>`.
struct Secret: Hashable, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

extension Secret: Codable {
    init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "<secret>" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

import Postgres

/// What texts of a column were read as, where most rows hold one of a few: those are read once.
struct RecentValues<Value> {
    private static var countMax: Int { 12 }

    private let parse: (String) -> Value?
    private var known: [(text: String, value: Value)] = []

    init(_ parse: @escaping (String) -> Value?) {
        self.parse = parse
    }

    /// `nil` where the text is none.
    mutating func value(of text: PackedText) -> Value? {
        for entry in known where text == entry.text { return entry.value }
        let string = text.string
        guard let value = parse(string) else { return nil }
        if known.count < Self.countMax { known.append((string, value)) }
        return value
    }
}

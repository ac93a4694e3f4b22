import Postgres

/// What texts of a column were read as, where most rows hold one of a few: those are read once.
struct RecentValues<Value> {
    private static var countMax: Int { 12 }

    private let parse: (String) -> Value?
    /// Of each word (`WordList`) that was met.
    private var ofWords = [Value?](repeating: nil, count: WordList.countMax)
    private var ofOthers: [(text: String, value: Value)] = []

    init(_ parse: @escaping (String) -> Value?) {
        self.parse = parse
    }

    /// `nil` where the text is none.
    mutating func value(of text: PackedText) -> Value? {
        if let word = text.word {
            let place = Int(word)
            if ofWords[place] == nil { ofWords[place] = parse(text.string) }
            return ofWords[place]
        }
        for entry in ofOthers where text == entry.text { return entry.value }
        let string = text.string
        guard let value = parse(string) else { return nil }
        if ofOthers.count < Self.countMax { ofOthers.append((string, value)) }
        return value
    }
}

/// The check that tests compare every golden file.
enum GoldenFiles {
    /// Returns the golden files in `paths` that no test of their target in `sources` names in a literal after
    /// `matches:`.
    static func unreferenced(_ paths: [String], in sources: [SourceFile]) -> [String] {
        var named: [Substring: Set<String>] = [:]
        for source in sources {
            let scanner = SwiftScanner(source.text)
            let label = Array("matches: ".utf8)
            for literal in scanner.literals
            where scanner.code[..<literal.offset].suffix(label.count).elementsEqual(label) {
                named[target(of: source.path), default: []].insert(literal.text)
            }
        }
        return paths.filter { path in
            let name = path.split(separator: "/").last.map(String.init) ?? path
            return named[target(of: path)]?.contains(name) != true
        }
    }

    private static func target(of path: String) -> Substring {
        path.split(separator: "/").dropFirst().first ?? ""
    }
}

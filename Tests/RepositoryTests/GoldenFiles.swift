/// The golden files, and the tests that compare them.
enum GoldenFiles {
    /// The golden files that no test of their target names as a literal after `matches:`. `paths` are those of all golden
    /// files, `sources` the tests.
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

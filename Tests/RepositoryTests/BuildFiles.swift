/// Checks of the files around the sources: names of migrations, pins of packages, commands of the makefile. Each
/// function takes text, so that a test can insert a mistake.
enum BuildFiles {
    /// Migrations are numbered from 0001 without gaps, and each has an up and a down file. `names` are the files in
    /// `migrations`.
    static func problems(inMigrationNames names: [String]) -> [String] {
        var problems: [String] = []
        var directions: [Int: [String: String]] = [:]
        for name in names where !["schema.sql", "README.md"].contains(name) {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            let title = parts[0].split(separator: "_", maxSplits: 1).map(String.init)
            guard parts.count == 3, parts[2] == "sql", ["up", "down"].contains(parts[1]),
                title.count == 2, title[0].utf8.count == 4, let number = Int(title[0]),
                title[1].utf8.allSatisfy({ isSnakeCase($0) })
            else {
                problems.append("\(name) is not named NNNN_snake_case.up.sql or .down.sql")
                continue
            }
            if let other = directions[number]?[parts[1]] {
                problems.append("\(other) and \(name) have the same number")
            }
            directions[number, default: [:]][parts[1]] = name
        }
        for number in 1..<max(1, (directions.keys.max() ?? 0) + 1) {
            guard let files = directions[number] else {
                problems.append("migration \(number) is missing")
                continue
            }
            guard let up = files["up"], let down = files["down"] else {
                problems.append("migration \(number) has only one direction")
                continue
            }
            if up.dropLast(".up.sql".count) != down.dropLast(".down.sql".count) {
                problems.append("\(up) and \(down) have different names")
            }
        }
        return problems
    }

    private static func isSnakeCase(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Every package is pinned to one version. `manifest` is the text of `Package.swift`.
    static func problems(inManifest manifest: String) -> [String] {
        let code = String(decoding: SwiftScanner(manifest).code, as: UTF8.self)
        var problems: [String] = []
        for declaration in code.split(separator: ".package(").dropFirst() where declaration.hasPrefix("url:") {
            let arguments = declaration.prefix { $0 != ")" }
            if !arguments.contains("exact:") { problems.append("a package without an exact version: \(arguments)") }
        }
        for word in ["branch:", "revision:", ".upToNextMajor", ".upToNextMinor", "from:"] where code.contains(word) {
            problems.append("\(word) is not a pinned version")
        }
        if code.contains(".package(path:") { problems.append("a package by path") }
        return problems
    }

    /// The makefile has at most 12 targets, each with a line for `make help`, and `make test` runs every test.
    /// `testScript` is the script that it runs.
    static func problems(inMakefile makefile: String, testScript: String) -> [String] {
        var problems: [String] = []
        let targets = makefile.split(separator: "\n").filter { line in
            line.first?.isLetter == true && line.contains(":") && !line.contains("=")
        }
        if targets.count > 12 { problems.append("more than twelve targets: \(targets.count)") }
        problems += targets.filter { !$0.contains("## ") }.map { "a target without a line for make help: \($0)" }
        if !makefile.contains("\ntest: ") || !makefile.contains("\t@scripts/test\n") {
            problems.append("make test does not run scripts/test")
        }
        for word in ["--filter", "--skip ", "|| true", "|| :"] where testScript.contains(word) {
            problems.append("make test skips checks: \(word)")
        }
        for word in [
            "swift format lint --strict", "tsc --noEmit", "swift test", "--xunit-output", "scripts/check-promises",
        ]
        where !testScript.contains(word) {
            problems.append("make test does not run \(word)")
        }
        return problems
    }

    /// The client's manifest and the root's compile the same sources, with the same packages and language settings.
    ///
    /// `client` is the text of `clients/swift/Package.swift`, `root` that of `Package.swift`, which pins one version of
    /// the range that the client accepts.
    static func problems(inClientManifest client: String, rootManifest root: String) -> [String] {
        var problems: [String] = []
        for (target, folder) in [("ConcordAuth", "Sources"), ("ConcordAuthTests", "Tests")] {
            if !root.contains("\"\(target)\": \"clients/swift/\(folder)/\(target)\"") {
                problems.append("the root's manifest does not compile clients/swift/\(folder)/\(target)")
            }
            if !client.filter({ !$0.isWhitespace }).contains("arget(name:\"\(target)\"") {
                problems.append("the client has no target \(target)")
            }
        }
        for word in ["path:", "exclude:", "sources:"] where client.contains(word) {
            problems.append("\(word) in the client's manifest, and not in the root's")
        }

        let pinned = root.matches(of: #/\("(https://[^"]+)", "([0-9.]+)", \[([^\]]*)\]\)/#).map { row in
            (url: String(row.1), version: parts(row.2), products: names(in: row.3))
        }
        let imported = root.firstMatch(of: #/\n    "ConcordAuth": \[([^\]]*)\]/#).map { names(in: $0.1) } ?? []
        let expected = Set(pinned.filter { !$0.products.isDisjoint(with: imported) }.map(\.url))
        let ranges = client.matches(of: #/\.package\(url: "([^"]+)", "([0-9.]+)"\.\.<"([0-9.]+)"\)/#)
        if Set(ranges.map { String($0.1) }) != expected || ranges.count != client.matches(of: #/\.package\(/#).count {
            problems.append("the client needs ranges of exactly these packages: \(expected.sorted())")
        }
        for range in ranges {
            guard let version = pinned.first(where: { $0.url == range.1 })?.version else { continue }
            if version.lexicographicallyPrecedes(parts(range.2)) || !version.lexicographicallyPrecedes(parts(range.3)) {
                problems.append("the root pins a version of \(range.1) that the client refuses")
            }
        }

        func settings(_ manifest: String) -> Set<String> {
            let features = manifest.matches(of: #/\.enableUpcomingFeature\("(\w+)"\)/#).map { String($0.1) }
            return Set(features + (manifest.contains(".swiftLanguageMode(.v6)") ? ["6"] : []))
        }
        if settings(client) != settings(root) {
            problems.append("language settings: \(settings(client).symmetricDifference(settings(root)).sorted())")
        }
        return problems
    }

    private static func parts(_ version: Substring) -> [Int] {
        version.split(separator: ".").compactMap { Int($0) }
    }

    private static func names(in list: Substring) -> Set<String> {
        Set(list.matches(of: #/"(\w+)"/#).map { String($0.1) })
    }

    /// The files that name the version of Concord. The first decides: server and clients are released together.
    private static var versions: [(path: String, pattern: Regex<(Substring, Substring)>)] {
        [
            ("Sources/concord/Configuration/ConcordVersion.swift", #/static let current = "([^"]+)"/#),
            ("clients/swift/Sources/ConcordAuth/Wire/Backend.swift", #/static let version = "([^"]+)"/#),
            ("clients/web/concord.js", #/export const version = "([^"]+)"/#),
            ("Sources/AccountAPI/OpenAPI/openapi.json", #/"version": "([^"]+)",\n +"api": 1/#),
            ("README.md", #/Concord ([^ ]+) is ready for development/#),
            ("clients/swift/README.md", #/concord-swift-([0-9.]+)\/ConcordAuth/#),
        ]
    }

    /// Every file of `versions` names the version of the first. `text` returns the text of a file.
    static func problems(inVersions text: (String) throws -> String) rethrows -> [String] {
        let found = try versions.map { file in
            (path: file.path, version: try text(file.path).firstMatch(of: file.pattern).map { String($0.1) })
        }
        return found.filter { $0.version == nil || $0.version != found[0].version }.map {
            "\($0.path) names the version \($0.version ?? "nowhere"), and not \(found[0].version ?? "any")"
        }
    }

    /// The image's build has every folder of the manifest. `manifest` is the text of `Package.swift`, `ignored` that of
    /// `.dockerignore`, which excludes everything that no line beginning with `!` names.
    static func problems(inDockerIgnore ignored: String, manifest: String) -> [String] {
        let table = manifest.firstMatch(of: #/\nlet paths = \[([^\]]*)\]/#).map { String($0.1) } ?? ""
        let folders = table.matches(of: #/: "([^"\/]+)/#).map { String($0.1) } + ["Sources", "Tests"]
        let kept = ignored.split(separator: "\n").filter { $0.hasPrefix("!") }.map { String($0.dropFirst()) }
        return Set(folders).subtracting(kept).sorted().map { "\($0) is in the manifest, and not in the image's build" }
    }
}

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
        for word in ["swift format lint --strict", "swift test", "--xunit-output", "scripts/check-promises"]
        where !testScript.contains(word) {
            problems.append("make test does not run \(word)")
        }
        return problems
    }
}

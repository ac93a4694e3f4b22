import Testing

struct BuildFilesTests {
    @Test func `migrations are numbered without gaps and have both directions`() throws {
        #expect(BuildFiles.problems(inMigrationNames: try Repository.names(in: "migrations")) == [])
        #expect(try Repository.names(in: "migrations").contains { $0.hasSuffix(".up.sql") })
    }

    @Test(arguments: [
        ["0001_a.up.sql"],
        ["0001_a.up.sql", "0001_b.down.sql"],
        ["0001_a.up.sql", "0001_a.down.sql", "0003_c.up.sql", "0003_c.down.sql"],
        ["0001_a.up.sql", "0001_a.down.sql", "0001_b.up.sql"],
        ["1_a.up.sql", "1_a.down.sql"],
        ["0001_A-b.up.sql", "0001_A-b.down.sql"],
        ["notes.txt"],
    ])
    func `a wrong migration name is reported`(names: [String]) {
        #expect(!BuildFiles.problems(inMigrationNames: names).isEmpty)
    }

    @Test func `well-named migrations are accepted`() {
        let names = ["0001_a.up.sql", "0001_a.down.sql", "0002_b_c2.up.sql", "0002_b_c2.down.sql", "schema.sql"]
        #expect(BuildFiles.problems(inMigrationNames: names) == [])
    }

    @Test func `every package is pinned to one version`() throws {
        #expect(BuildFiles.problems(inManifest: try Repository.file("Package.swift").text) == [])
    }

    @Test(arguments: [
        #".package(url: "https://example.com/a", from: "1.0.0")"#,
        #".package(url: "https://example.com/a", branch: "main")"#,
        #".package(url: "https://example.com/a", .upToNextMajor(from: "1.0.0"))"#,
        #".package(path: "../a")"#,
    ])
    func `a package without a fixed version is reported`(declaration: String) {
        #expect(!BuildFiles.problems(inManifest: "dependencies: [\n\(declaration),\n]").isEmpty)
    }

    @Test func `the makefile is short and documented, and runs every test`() throws {
        let makefile = try Repository.file("Makefile").text
        let script = try Repository.file("scripts/test").text
        #expect(BuildFiles.problems(inMakefile: makefile, testScript: script) == [])
    }

    @Test func `mistakes in the makefile are reported`() throws {
        let makefile = try Repository.file("Makefile").text
        let script = try Repository.file("scripts/test").text
        let undocumented = makefile + "extra:\n\ttrue\n"
        #expect(!BuildFiles.problems(inMakefile: undocumented, testScript: script).isEmpty)
        let filtered = script + "\nswift test --filter Fast\n"
        #expect(!BuildFiles.problems(inMakefile: makefile, testScript: filtered).isEmpty)
        let many = makefile + (1...12).map { "t\($0): ## more\n" }.joined()
        #expect(!BuildFiles.problems(inMakefile: many, testScript: script).isEmpty)
        #expect(!BuildFiles.problems(inMakefile: makefile, testScript: "swift test").isEmpty)
    }

    @Test func `continuous integration runs make test`() throws {
        let commands = try Repository.file(".ci/run").text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(commands.last == "exec make test </dev/null")
    }

    @Test func `NOTICE names every package that the program links`() throws {
        let manifest = try Repository.file("Package.swift").text
        let notice = try Repository.file("NOTICE").text
        let addresses = manifest.matches(of: #/\("(https://[^"]+)", "[0-9.]+", \[/#).map { String($0.1) }
        #expect(addresses.count > 10)
        // Only tests use these.
        for address in addresses where !address.hasSuffix("/jwt-kit") && !address.hasSuffix("/swift-nio-http2") {
            #expect(notice.contains(address), "\(address)")
        }
    }

    @Test func `both manifests compile the same Swift client`() throws {
        let client = try Repository.file("clients/swift/Package.swift").text
        let root = try Repository.file("Package.swift").text
        #expect(BuildFiles.problems(inClientManifest: client, rootManifest: root) == [])
    }

    @Test(arguments: [
        (#""3.0.0"..<"5.0.0""#, #""3.0.0"..<"4.0.0""#), (#""3.0.0"..<"5.0.0""#, #""4.6.0"..<"5.0.0""#),
        (#""3.0.0"..<"5.0.0""#, #"exact: "4.5.2""#), ("apple/swift-crypto", "apple/swift-nio"),
        (#".enableUpcomingFeature("ExistentialAny"),"#, ""), (".swiftLanguageMode(.v6),", ""),
        (#"name: "ConcordAuth","#, #"name: "ConcordAuth", path: "Code","#),
        (
            "targets: [\n        .target(\n            name: \"ConcordAuth\"",
            "targets: [\n        .target(\n            name: \"Auth\""
        ),
        (
            "dependencies: [.package(",
            #"dependencies: [.package(url: "https://example.com/a", from: "1.0.0"), .package("#
        ),
    ])
    func `a client's manifest that differs from the root's is reported`(text: String, instead: String) throws {
        let client = try Repository.file("clients/swift/Package.swift").text
        let root = try Repository.file("Package.swift").text
        try #require(client.contains(text))
        let changed = client.replacing(text, with: instead)
        #expect(!BuildFiles.problems(inClientManifest: changed, rootManifest: root).isEmpty)
    }

    @Test func `server, clients and documents have one version`() throws {
        #expect(try BuildFiles.problems(inVersions: { try Repository.file($0).text }) == [])
        let other = try BuildFiles.problems(inVersions: { path in
            let text = try Repository.file(path).text
            return path == "clients/web/concord.js"
                ? text.replacing("const version = \"", with: "const version = \"9") : text
        })
        #expect(other.count == 1)
        #expect(BuildFiles.problems(inVersions: { _ in "" }).count > 1)
    }

    @Test func `the build of the image has every folder of the manifest`() throws {
        let manifest = try Repository.file("Package.swift").text
        let ignored = try Repository.file(".dockerignore").text
        #expect(BuildFiles.problems(inDockerIgnore: ignored, manifest: manifest) == [])
        let without = ignored.replacing("!clients\n", with: "")
        #expect(BuildFiles.problems(inDockerIgnore: without, manifest: manifest).count == 1)
    }
}

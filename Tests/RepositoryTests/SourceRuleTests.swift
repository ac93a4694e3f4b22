import Testing

/// The rules of the architecture that the compiler does not check (`ARCHITECTURE.md`, "Invariants").
struct SourceRuleTests {
    /// The files of the repository, read once for all rules.
    private static let files = Result { try Repository.files() }

    @Test(arguments: SourceRule.all)
    func `the repository follows every rule`(rule: SourceRule) throws {
        let violations = try Self.files.get().flatMap { rule.violations(in: $0) }
        #expect(violations.isEmpty, "\(violations.map(\.description).joined(separator: "\n"))")
    }

    @Test(arguments: SourceRule.all)
    func `every rule reports its forbidden samples`(rule: SourceRule) {
        #expect(!rule.planted.isEmpty)
        for sample in rule.planted {
            #expect(!rule.violations(in: sample).isEmpty, "\(rule.name): not reported: \(sample.text)")
        }
    }

    @Test(arguments: SourceRule.all)
    func `every rule accepts its allowed samples`(rule: SourceRule) {
        #expect(!rule.allowed.isEmpty)
        for sample in rule.allowed {
            #expect(rule.violations(in: sample).isEmpty, "\(rule.name): wrongly reported: \(sample.text)")
        }
    }

    @Test func `the files of the repository are found and read`() throws {
        let files = try Self.files.get()
        #expect(files.contains { $0.path == "Package.swift" })
        #expect(files.contains { $0.path.hasPrefix("Sources/AccountLinking/") })
        #expect(files.contains { $0.path == "Tests/RepositoryTests/SourceRuleTests.swift" })
    }

    @Test func `every file that may bypass the compiler's checks exists`() throws {
        for path in SourceRule.filesWithUnsafeEscapes {
            _ = try Repository.file(path)
        }
    }

    @Test func `every file that may use unsafe pointers uses them`() throws {
        for path in SourceRule.filesWithUnsafePointers {
            #expect(try !SourceRule.unsafePointers(in: Repository.file(path)).isEmpty, "\(path)")
        }
    }

    @Test func `the scanner separates code from comments and literals`() {
        let text = ##"""
            let a = "x /* no comment */ \(f("inner \(deep)")) tail" // "not a literal"
            /* outer /* "nested" */ still */ let b = #"raw \(not) \#(code) " quote"#
            let c = """
                two "quoted" lines
                """
            func `it's a "name"`() {}
            let d = #/"[^"]*"/#
            """##
        let scanner = SwiftScanner(text)
        #expect(scanner.code.count == text.utf8.count)
        let code = String(decoding: scanner.code, as: UTF8.self)
        for word in ["f(", "deep", "code", "let b", "let c", "func", "let d"] {
            #expect(code.contains(word), "\(word) is code")
        }
        for word in ["no comment", "inner", "tail", "literal", "nested", "still", "raw", "quote", "lines", "name"] {
            #expect(!code.contains(word), "\(word) is not code")
        }
        let literals = scanner.literals.map(\.text)
        #expect(literals.count == 4)
        #expect(literals.contains("x /* no comment */  tail"))
        #expect(literals.contains("inner "))
        #expect(literals.contains(#"raw \(not)  " quote"#))
    }

    @Test func `only whole words are found`() {
        func count(_ needle: String, _ text: String) -> Int { offsets(of: needle, in: Array(text.utf8)).count }
        #expect(count("await", "await f(); awaiting(); reawait; await") == 2)
        #expect(count("Date(", "UpdateDate(1); Date(2); x.Date(3)") == 2)
        #expect(count("try!", "try! f(); retry! g()") == 1)
        #expect(count(".gone", "a.gone; .goneBy") == 1)
    }
}

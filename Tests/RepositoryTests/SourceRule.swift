/// A rule of the architecture, checked in the text of the sources.
struct SourceRule: Sendable, CustomStringConvertible {
    /// The rule as a sentence.
    var name: String
    /// Returns true if the rule applies to the file.
    var appliesTo: @Sendable (SourceFile) -> Bool
    /// Returns the places that break the rule.
    var check: @Sendable (SourceFile) -> [Violation]
    /// Samples that the rule must report.
    var planted: [SourceFile]
    /// Similar samples that the rule must accept.
    var allowed: [SourceFile]

    var description: String { name }

    func violations(in file: SourceFile) -> [Violation] {
        appliesTo(file) ? check(file) : []
    }
}

extension SourceRule {
    /// Every rule. The next one goes here.
    static let all: [SourceRule] = [
        .imports, .clientImports, .pureRules, .pointers, .sql, .statusCodes, .environment,
        .provedCredentials, .countedRefusals, .decidedRefusals, .unsafeEscapes, .unsafePointers, .nothingPublic,
        .swiftTestingOnly,
        .testNames, .machinePaths, .registries, .standardOutput,
    ]

    /// The modules that each target may import, as the table `imports` of the manifest lists them.
    static let declaredImports: [String: Set<String>] = {
        let manifest = (try? Repository.file("Package.swift").text) ?? ""
        let rows = manifest.matches(of: #/\n    "([\w-]+)": \[([^\]]*)\]/#).map { row in
            let modules = row.2.matches(of: #/"([\w-]+)"/#).map { String($0.1).replacing("-", with: "_") }
            return (String(row.1), Set(modules))
        }
        // Later tables may have rows of the same form: the first one counts.
        return Dictionary(rows) { first, _ in first }
    }()

    /// Modules of the toolchain.
    private static func toolchainModules(for target: String, at path: String) -> Set<String> {
        switch target {
        case "AccountLinking", "JSON": ["FoundationEssentials"]
        case "PrometheusMetrics": ["Synchronization"]
        case _ where path.hasPrefix("Tests/"):
            [
                "Dispatch", "Foundation", "FoundationEssentials", "FoundationNetworking", "Glibc", "Synchronization",
                "Testing",
            ]
        default: ["FoundationEssentials", "Glibc", "Musl", "Synchronization"]
        }
    }

    /// SwiftPM lets a target import modules of indirect dependencies, and other modules if they were built before.
    static let imports = SourceRule(
        name: "a target imports only what the manifest lists for it",
        appliesTo: { $0.path.hasSuffix(".swift") && ($0.target != nil || $0.path.hasPrefix("Tests/")) },
        check: { file in
            let folder = file.target ?? file.path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
            let target = ["demo", "bench"].contains(folder) ? "concord-" + folder : folder
            let allowed = toolchainModules(for: target, at: file.path).union(declaredImports[target] ?? [])
            return importedModules(of: file).filter { !allowed.contains($0.module) }
                .map { file.violation(at: $0.offset, "\(target) may not import \($0.module)") }
        },
        planted: [
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "import FoundationEssentials\nimport Logging\n"),
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "package import Foundation\n"),
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "@testable import struct JSON.JSONValue\n"),
            SourceFile(path: "Sources/Postgres/A.swift", text: "internal import AccountLinking\n"),
            SourceFile(path: "Sources/AccountStore/A.swift", text: "import CLibpq\n"),
            SourceFile(path: "Sources/AccountOperations/A.swift", text: "package import HTTPServer\n"),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "import AccountStore\n"),
            SourceFile(path: "Sources/demo/A.swift", text: "import AccountAPI\n"),
            SourceFile(path: "Benchmarks/A.swift", text: "import IdentityProviders\n"),
            SourceFile(path: "Tests/JSONTests/A.swift", text: "@testable import AccountAPI\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "import CIDN2\n// import Logging\n"),
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "let text = \"\"\"\nimport Logging\n\"\"\"\n"),
            SourceFile(path: "Sources/concord/A.swift", text: "import Logging\n"),
            SourceFile(path: "Sources/Postgres/A.swift", text: "import CLibpq\n"),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "import HTTPServer\n"),
            SourceFile(path: "Tests/DemoTests/A.swift", text: "import Testing\n@testable import concord_demo\n"),
        ]
    )

    /// The Swift client builds on Apple's systems and Linux: modules that only some of them have are imported under a
    /// condition.
    static let clientImports = SourceRule(
        name: "the Swift client imports modules of every system, and others where they exist",
        // The code of tutorials is not compiled with the client.
        appliesTo: {
            $0.path.hasPrefix("clients/swift/Sources/") && $0.path.hasSuffix(".swift") && !$0.path.contains(".docc/")
        },
        check: { file in
            let everywhere: Set<String> = ["Crypto", "Dispatch", "Foundation"]
            let somewhere: Set<String> = [
                "AuthenticationServices", "Darwin", "FoundationNetworking", "Glibc", "Musl", "Security", "UIKit",
            ]
            return importedModules(of: file).filter { offset, module in
                !everywhere.contains(module)
                    && !(somewhere.contains(module)
                        && conditions(at: offset, in: file).contains { $0.contains("canImport(\(module))") })
            }
            .map { file.violation(at: $0.offset, "the Swift client may not import \($0.module) here") }
        },
        planted: [
            SourceFile(path: "clients/swift/Sources/ConcordAuth/A.swift", text: "import Security\n"),
            SourceFile(path: "clients/swift/Sources/ConcordAuth/A.swift", text: "public import FoundationNetworking\n"),
            SourceFile(path: "clients/swift/Sources/ConcordAuth/A.swift", text: "import NIOCore\n"),
            SourceFile(
                path: "clients/swift/Sources/ConcordAuth/A.swift",
                text: "#if canImport(NIOCore)\nimport NIOCore\n#endif\n"
            ),
            SourceFile(
                path: "clients/swift/Sources/ConcordAuth/A.swift",
                text: "#if canImport(UIKit)\n#endif\nimport UIKit\n"
            ),
            SourceFile(
                path: "clients/swift/Sources/ConcordAuth/A.swift",
                text: "#if canImport(UIKit)\nimport UIKit\n#else\nimport UIKit\n#endif\n"
            ),
            SourceFile(
                path: "clients/swift/Sources/ConcordAuth/A.swift",
                text: "#if !canImport(Glibc)\nimport Glibc\n#endif\n"
            ),
        ],
        allowed: [
            SourceFile(
                path: "clients/swift/Sources/ConcordAuth/A.swift",
                text: "import Crypto\npublic import Foundation\n// import NIOCore\n"
            ),
            SourceFile(
                path: "clients/swift/Sources/ConcordAuth/A.swift",
                text: "#if canImport(Glibc)\nimport Glibc\n#elseif canImport(Darwin)\nimport Darwin\n#endif\n"
            ),
            SourceFile(
                path: "clients/swift/Sources/ConcordAuth/A.swift",
                text: "#if os(iOS) && canImport(UIKit)\n#if DEBUG\nlet a = 1\n#endif\nimport UIKit\n#endif\n"
            ),
            SourceFile(path: "clients/swift/Tests/ConcordAuthTests/A.swift", text: "import Testing\n"),
            SourceFile(path: "clients/swift/Sources/ConcordAuth/A.docc/A.swift", text: "import ConcordAuth\n"),
        ]
    )

    static let pureRules = SourceRule(
        name: "the rules have no clock, no randomness, no concurrency and no output",
        appliesTo: { $0.target == "AccountLinking" },
        check: { file in
            occurrences(
                of: [
                    "async", "await", "actor", "Task", "Date(", "Date.now", "UUID(", ".random(", "randomElement(",
                    ".shuffled(", "SystemRandomNumberGenerator", "ContinuousClock", "SuspendingClock",
                    "clock_gettime", "Logger", "print(", "Mutex", "Atomic",
                ],
                in: file
            ) { "AccountLinking may not use \($0)" }
        },
        planted: [
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "func f() async {}\n"),
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "let now = Date()\n"),
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "let id = \"\\(UUID())\"\n"),
        ],
        allowed: [
            SourceFile(
                path: "Sources/AccountLinking/A.swift",
                text: "/// Never `await`s; no Date() here.\nlet a = 1\n"
            ),
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "let asynchronous = UpdateDate(1)\n"),
            SourceFile(path: "Sources/AccountStore/A.swift", text: "func f() async {}\n"),
        ]
    )

    static let pointers = SourceRule(
        name: "only two files hold libpq's handles",
        appliesTo: {
            $0.target != nil
                && !["Sources/Postgres/Connection.swift", "Sources/Postgres/ResultSet.swift"].contains($0.path)
        },
        check: { file in
            occurrences(of: ["OpaquePointer", "UnsafePointer<PGconn>", "UnsafePointer<PGresult>"], in: file) {
                "\($0) belongs in Postgres/Connection.swift and Postgres/ResultSet.swift"
            }
        },
        planted: [
            SourceFile(path: "Sources/Postgres/Reactor.swift", text: "var connection: OpaquePointer?\n")
        ],
        allowed: [
            SourceFile(path: "Sources/Postgres/Connection.swift", text: "let connection: OpaquePointer\n"),
            SourceFile(path: "Sources/Postgres/Reactor.swift", text: "// holds no OpaquePointer\nlet a = 1\n"),
        ]
    )

    static let sql = SourceRule(
        name: "SQL is only in AccountStore, Migrations, Postgres and the benchmarks",
        appliesTo: {
            $0.path.hasSuffix(".swift")
                && $0.target.map { !["AccountStore", "Migrations", "Postgres", "bench"].contains($0) } == true
        },
        check: { file in
            SwiftScanner(file.text).literals.filter { looksLikeSQL($0.text) }
                .map { file.violation(at: $0.offset, "SQL outside of AccountStore, Migrations and Postgres") }
        },
        planted: [
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "let q = \"SELECT id FROM users\"\n"),
            SourceFile(
                path: "Sources/AccountOperations/A.swift",
                text: "run(\"\"\"\n    update users set a = 1\n\"\"\")\n"
            ),
            SourceFile(path: "Sources/concord/A.swift", text: "run(\"BEGIN\")\n"),
            SourceFile(path: "Sources/concord/A.swift", text: "run(#\"INSERT INTO t VALUES ('\\#(x)')\"#)\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/AccountStore/Rows/A.swift", text: "let q = \"SELECT id FROM users\"\n"),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "let method = \"DELETE\"\n// SELECT id FROM users\n"),
            SourceFile(path: "Sources/concord/A.swift", text: "help: \"Update the project, set its name.\"\n"),
            SourceFile(path: "Sources/concord/A.swift", text: "\"-----BEGIN PRIVATE KEY-----\"\n"),
        ]
    )

    static let statusCodes = SourceRule(
        name: "only APIError.swift chooses an HTTP status for a failure",
        appliesTo: {
            ["AccountAPI", "concord", "AccountOperations"].contains($0.target)
                && $0.path != "Sources/AccountAPI/APIError.swift"
        },
        check: { file in
            occurrences(
                of: [
                    ".badRequest", ".unauthorized", ".forbidden", ".notFound", ".methodNotAllowed", ".notAcceptable",
                    ".preconditionFailed", ".contentTooLarge", ".unsupportedMediaType", ".unprocessableContent",
                    ".tooManyRequests", ".internalServerError", ".notImplemented", ".badGateway",
                    ".serviceUnavailable", ".gatewayTimeout", "HTTPError(", "Status(code:",
                ],
                notAfter: "APIError",
                in: file
            ) { "\($0) belongs in AccountAPI/APIError.swift" }
        },
        planted: [
            SourceFile(path: "Sources/AccountAPI/Routes/A.swift", text: "return Response(status: .badRequest)\n"),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "throw HTTPError(.conflict)\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "Response(status: .ok, headers: headers)\n"),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "Response(status: error.status)\n"),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "throw APIError.notFound\n"),
            SourceFile(path: "Sources/AccountAPI/APIError.swift", text: "APIError(.badRequest)\n"),
        ]
    )

    static let environment = SourceRule(
        name: "only concord reads the environment",
        appliesTo: { $0.target != nil && $0.target != "concord" },
        check: { file in
            occurrences(
                of: ["ProcessInfo", "getenv(", "secure_getenv(", "environ", "EnvironmentVariablesProvider"],
                in: file
            ) { "\($0): read configuration in concord and pass it on" }
        },
        planted: [
            SourceFile(
                path: "Sources/Postgres/A.swift",
                text: "let url = ProcessInfo.processInfo.environment[\"X\"]\n"
            ),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "let port = getenv(\"PORT\")\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/concord/A.swift", text: "ProcessInfo.processInfo.environment\n"),
            SourceFile(path: "Sources/PostgresCluster/A.swift", text: "run(environment: .custom([:]))\n"),
        ]
    )

    static let provedCredentials = SourceRule(
        name: "an IncomingCredential is made only after verification",
        appliesTo: {
            $0.target.map { !["IdentityProviders", "AccountStore"].contains($0) } == true
                && $0.path != "Sources/AccountLinking/Model/IncomingCredential.swift"
                // A simulation, whose decisions are not applied.
                && $0.path != "Sources/AccountLinking/Simulation/HypotheticalSignIn.swift"
        },
        check: { file in
            occurrences(of: ["IncomingCredential(", "IncomingCredential.init"], in: file) { _ in
                "IncomingCredential is made only in IdentityProviders and AccountStore"
            }
        },
        planted: [
            SourceFile(path: "Sources/AccountOperations/A.swift", text: "let c = IncomingCredential(identity: i)\n"),
            SourceFile(path: "Sources/AccountAPI/A.swift", text: "rows.map(IncomingCredential.init)\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/IdentityProviders/A.swift", text: "IncomingCredential(identity: i)\n"),
            SourceFile(path: "Sources/AccountOperations/A.swift", text: "func f(_ c: IncomingCredential) {}\n"),
            SourceFile(path: "Sources/AccountOperations/A.swift", text: "let c = PendingIncomingCredential(1)\n"),
        ]
    )

    static let countedRefusals = SourceRule(
        name: "every refusal by a rule is counted",
        appliesTo: { $0.target == "AccountOperations" },
        check: { file in
            occurrences(of: ["Denial.refusal(refusal", "Denial.conflict(refusal"], in: file) { _ in
                "throw a refusal of a rule with refused(_:by:)"
            }
        },
        planted: [
            SourceFile(
                path: "Sources/AccountOperations/A.swift",
                text: "case .refuse(let refusal): throw Denial.refusal(refusal)\n"
            ),
            SourceFile(
                path: "Sources/AccountOperations/A.swift",
                text: "throw Denial.conflict(refusal.decision)\n"
            ),
        ],
        allowed: [
            SourceFile(
                path: "Sources/AccountOperations/A.swift",
                text: "throw refused(.refusal(refusal), by: verdict.rule)\nthrow Denial.refusal(.tokenExpired)\n"
            )
        ]
    )

    /// The names of the decision rules, from their table.
    private static let decisionRules: Set<String> = {
        let table = (try? Repository.file("Sources/AccountLinking/Decisions/Rule.swift").text) ?? ""
        return Set(table.matches(of: #/\n    case (\w+) = "[A-Z]\d+"/#).map { String($0.1) })
    }()

    static let decidedRefusals = SourceRule(
        name: "only AccountLinking decides by which rule something is refused",
        appliesTo: { file in file.target.map { $0 != "AccountLinking" && $0 != "bench" } == true },
        check: { file in
            let code = SwiftScanner(file.text).code
            let literals = ["by: .", "Verdict(.", "Verdict(Rule."].flatMap { word in
                offsets(of: word, in: code).filter { offset in
                    let name = code[(offset + word.utf8.count)...].prefix {
                        $0 == UInt8(ascii: "_") || isLetterOrDigit($0)
                    }
                    return decisionRules.contains(String(decoding: name, as: UTF8.self))
                }
            }
            return literals.map {
                file.violation(at: $0, "a rule is named: let a function of AccountLinking return it")
            }
        },
        planted: [
            SourceFile(
                path: "Sources/AccountOperations/A.swift",
                text: "throw refused(.refusal(.userNotFound), by: .tokenAccountGone)\n"
            ),
            SourceFile(
                path: "Sources/AccountOperations/A.swift",
                text: "let verdict = Verdict(.emailCodeStale, .refuse(.invalidEmailCode))\n"
            ),
        ],
        allowed: [
            SourceFile(
                path: "Sources/AccountOperations/A.swift",
                text: "throw refused(.refusal(refusal), by: verdict.rule)\ndecide(by: .administrator)\n"
            ),
            SourceFile(path: "Sources/AccountLinking/A.swift", text: "Verdict(.emailCodeStale, .invalidEmailCode)\n"),
        ]
    )

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    /// The files that may bypass the compiler's checks. Each has its proof beside the code.
    static let filesWithUnsafeEscapes = [
        // One thread at a time uses a PGconn, which its type cannot express.
        "Sources/Postgres/Connection.swift",
        // A PGresult is immutable after libpq has returned it.
        "Sources/Postgres/ResultSet.swift",
        // A lock around a value, because `Mutex` needs newer systems than the client.
        "clients/swift/Sources/ConcordAuth/Locked.swift",
        // Dispatch sources may be used from any thread.
        "clients/swift/Sources/ConcordAuth/Providers/LoopbackReceiver.swift",
    ]

    static let unsafeEscapes = SourceRule(
        name: "no code bypasses the compiler's checks",
        appliesTo: {
            ($0.target != nil || $0.path.hasPrefix("clients/swift/Sources/"))
                && !filesWithUnsafeEscapes.contains($0.path)
        },
        check: { file in
            occurrences(
                of: ["try!", "as!", "@unchecked Sendable", "nonisolated(unsafe)", "unsafeBitCast(", "Task.detached"],
                in: file
            ) { "\($0) is not allowed here" }
        },
        planted: [
            SourceFile(path: "Sources/JSON/A.swift", text: "let a = try! f()\n"),
            SourceFile(path: "clients/swift/Sources/ConcordAuth/A.swift", text: "let a = try! f()\n"),
            SourceFile(path: "Sources/JSON/A.swift", text: "let a = b as! C\n"),
            SourceFile(path: "Sources/Postgres/Reactor.swift", text: "final class R: @unchecked Sendable {}\n"),
            SourceFile(path: "Sources/Postgres/Reactor.swift", text: "nonisolated(unsafe) var x = 1\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/Postgres/ResultSet.swift", text: "final class R: @unchecked Sendable {}\n"),
            SourceFile(path: "Sources/JSON/A.swift", text: "// never try! here\nlet a = \"as!\"\n"),
        ]
    )

    /// The files that may use unsafe pointers. All other code uses `Span`, arrays and strings.
    static let filesWithUnsafePointers = [
        // Memory that C functions return or fill.
        "Sources/AccountLinking/Model/InternationalNames.swift",
        "Sources/AccountLinking/Model/LookAlikes.swift",
        "Sources/AccountOperations/Passwords/Argon2Hash.swift",
        "Sources/AccountOperations/Phones/NumberingPlan.swift",
        "Sources/Delivery/SMTPConnection.swift",
        "Sources/EmbeddedFiles/EmbeddedFile.swift",
        "Sources/HTTPClient/Transfer.swift",
        "Sources/HTTPClient/TransferDriver.swift",
        "Sources/IdentityProviders/Issuers/NetworkPolicy.swift",
        "Sources/NameResolution/SystemLookUp.swift",
        "Sources/Postgres/Connection.swift",
        "Sources/Postgres/DatabaseHost.swift",
        "Sources/Postgres/ResultSet.swift",
        "Sources/PostgresCluster/FileSystem.swift",
        "Sources/PostgresCluster/ServerUser.swift",
        "Sources/concord/Attribution+Operator.swift",
        // The address of a Unix socket.
        "Sources/concord/ServiceManager.swift",
        // Addresses of the program's own pages.
        "Sources/concord/StartUpPages.swift",
        // Writes of parts of an array to a file.
        "Sources/concord/StandardOutput.swift",
        // Code of every request and every token, where bounds checks cost more than 5 %.
        "Sources/JSON/Base64URL.swift",
        "Sources/JSON/JSONParser.swift",
        "Sources/JSON/JSONValue.swift",
        "Sources/JSON/JSONWriter.swift",
    ]

    static func unsafePointers(in file: SourceFile) -> [Violation] {
        occurrences(of: unsafePointerWords, in: file) { "\($0): use Span, an array or a string" }
    }

    static let unsafePointers = SourceRule(
        name: "unsafe pointers stay in the files that need them",
        // Benchmarks and demo are separate programs.
        appliesTo: { file in
            file.target.map { !["bench", "demo"].contains($0) } == true
                && !filesWithUnsafePointers.contains(file.path)
        },
        check: unsafePointers(in:),
        planted: [
            SourceFile(path: "Sources/JSON/A.swift", text: "func f(_ bytes: UnsafeRawBufferPointer) {}\n"),
            SourceFile(path: "Sources/JSON/A.swift", text: "let n = bytes.withUnsafeBytes { $0.count }\n"),
            SourceFile(path: "Sources/Postgres/Row.swift", text: "let n = span.unsafeLoad(as: UInt8.self)\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/JSON/JSONParser.swift", text: "let bytes: UnsafeBufferPointer<UInt8>\n"),
            SourceFile(path: "Sources/JSON/A.swift", text: "// no UnsafePointer\nlet a = \"'unsafe-inline'\"\n"),
        ]
    )

    private static let unsafePointerWords =
        ["", "Mutable", "Buffer", "MutableBuffer", "Raw", "MutableRaw", "RawBuffer", "MutableRawBuffer"]
        .map { "Unsafe\($0)Pointer" }
        + ["Bytes", "MutableBytes", "Pointer", "MutablePointer", "BufferPointer", "MutableBufferPointer"]
        .map { "withUnsafe\($0)" }
        + ["withUnsafeTemporaryAllocation", "unsafeUninitializedCapacity", "unsafeLoad", "unsafeLoadUnaligned"]

    static let nothingPublic = SourceRule(
        name: "nothing is public: this is a program",
        appliesTo: { $0.target != nil },
        check: { file in
            occurrences(of: ["public", "open class", "open func", "open var"], in: file) { "\($0): use package" }
        },
        planted: [
            SourceFile(path: "Sources/JSON/A.swift", text: "public struct A {}\n"),
            SourceFile(path: "Sources/JSON/A.swift", text: "public import FoundationEssentials\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/JSON/A.swift", text: "package struct A { let publicKeys = 1 }  // public\n")
        ]
    )

    static let swiftTestingOnly = SourceRule(
        name: "tests use Swift Testing, and none is disabled",
        appliesTo: { isInTests($0.path) && $0.path.hasSuffix(".swift") },
        check: { file in
            let imported = importedModules(of: file).filter { $0.module == "XCTest" }
                .map { file.violation(at: $0.offset, "XCTest: use Swift Testing") }
            let conditional = testsUnderConditions(in: file).map {
                file.violation(at: $0, "a test with a condition; testsUnderConditions(in:) lists the allowed ones")
            }
            return imported + conditional
                + occurrences(of: [".disabled(", ".disabled"], in: file) { _ in "a disabled test" }
        },
        planted: [
            SourceFile(path: "Tests/JSONTests/A.swift", text: "import XCTest\n"),
            SourceFile(path: "clients/swift/Tests/ConcordAuthTests/A.swift", text: "import XCTest\n"),
            SourceFile(path: "Tests/JSONTests/A.swift", text: "@Test(.disabled(\"later\")) func f() {}\n"),
            SourceFile(path: "Tests/JSONTests/A.swift", text: "@Test(.enabled(if: false)) func f() {}\n"),
            SourceFile(
                path: "Tests/JSONTests/A.swift",
                text: "@Suite(\n    .enabled(\"later\") { no }\n) struct A {}\n"
            ),
            SourceFile(
                path: "Tests/JSONTests/A.swift",
                text: "@Test(.enabled(if: geteuid() == 0 && no)) func f() {}\n"
            ),
        ],
        allowed: [
            SourceFile(path: "Tests/JSONTests/A.swift", text: "@Test func `a .disabled user`() {}  // .disabled\n"),
            SourceFile(
                path: "Tests/JSONTests/A.swift",
                text: "@Test(.enabled(if: SocketProxy.isPossible)) func f() {}\n"
            ),
            SourceFile(path: "Tests/JSONTests/A.swift", text: "let a = \".enabled(if: isFriday)\"\n"),
        ]
    )

    /// The test runner does not escape names in its XML, and `scripts/check-promises` could not parse it.
    static let testNames = SourceRule(
        name: "the name of a test has no character that XML escapes",
        appliesTo: {
            isInTests($0.path) && $0.path.hasSuffix(".swift") && !$0.path.hasPrefix("Tests/RepositoryTests/")
        },
        check: { file in
            file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
                guard line.contains(#/func `[^`]*["<&]/#) else { return nil }
                return Violation(path: file.path, line: index + 1, reason: "a test's name with one of \" < &")
            }
        },
        planted: [
            SourceFile(path: "Tests/JSONTests/A.swift", text: "@Test func `says \"no\"`() {}\n"),
            SourceFile(path: "Tests/JSONTests/A.swift", text: "    func `a < b`() {}\n"),
            SourceFile(path: "clients/swift/Tests/ConcordAuthTests/A.swift", text: "@Test func `a & b`() {}\n"),
        ],
        allowed: [
            SourceFile(path: "Tests/JSONTests/A.swift", text: "@Test func `it's named`() { print(\"a < b\") }\n")
        ]
    )

    static let machinePaths = SourceRule(
        name: "no file contains a path of one machine",
        appliesTo: { _ in true },
        check: { file in
            // Spelled in two parts, so that this file does not break the rule.
            let folders = ["work", "root", "home", "Users", "mnt", "opt", "workspace"].map { "/" + "\($0)/" }
            return folders.flatMap { folder in
                offsets(of: folder, in: Array(file.text.utf8)).filter { !continuesPath(at: $0, in: file) }
                    .map { file.violation(at: $0, "a path of one machine: \(folder)") }
            }
        },
        planted: [
            SourceFile(path: "README.md", text: "see " + "/" + "work/main/Sources\n"),
            SourceFile(path: "Makefile", text: "build:\n\t" + "/" + "home/me/swift build\n"),
            SourceFile(path: "scripts/x", text: "PATH=\"" + "/" + "opt/swift/usr/bin:$PATH\"\n"),
        ],
        allowed: [
            SourceFile(path: "README.md", text: "https://example.com" + "/" + "work/ and docs" + "/" + "home/x\n"),
            SourceFile(path: "scripts/x", text: "/usr/lib/postgresql /tmp /var/lib/concord\n"),
        ]
    )

    static let registries = SourceRule(
        name: "no file names a package registry: installers use their own configuration",
        appliesTo: { _ in true },
        check: { file in
            let hosts = [
                "pypi." + "org", "pythonhosted." + "org", "registry.npmjs." + "org", "artifact" + "ory",
                "--index" + "-url",
            ]
            return hosts.flatMap { host in
                offsets(of: host, in: Array(file.text.utf8)).map { file.violation(at: $0, "a registry: \(host)") }
            }
        },
        planted: [
            SourceFile(path: "scripts/x", text: "pip install --index" + "-url https://example.com x\n")
        ],
        allowed: [
            SourceFile(path: "scripts/x", text: "pip install firebase-admin==1.2.3\n")
        ]
    )

    static let standardOutput = SourceRule(
        name: "commands write to standard output with say(_:), which reports failures",
        appliesTo: { $0.target == "concord" && $0.path != "Sources/concord/StandardOutput.swift" },
        check: { file in
            occurrences(of: ["print(", "debugPrint(", "fputs(", "fwrite(", "putchar("], in: file) {
                "\($0) does not report a failed write; use say(_:)"
            }
        },
        planted: [
            SourceFile(path: "Sources/concord/Commands/A.swift", text: "func run() { print(text) }\n"),
            SourceFile(path: "Sources/concord/Commands/A.swift", text: "fputs(text, stdout)\n"),
        ],
        allowed: [
            SourceFile(path: "Sources/concord/Commands/A.swift", text: "try say(text) // not print(text)\n"),
            SourceFile(path: "Sources/demo/A.swift", text: "print(text)\n"),
        ]
    )
}

/// Returns the modules that a file imports, with the offsets of the import declarations.
private func importedModules(of file: SourceFile) -> [(offset: Int, module: String)] {
    let code = SwiftScanner(file.text).code
    return offsets(of: "import", in: code).compactMap { offset in
        let kinds: Set<String> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor"]
        let line = code[(offset + 6)...].prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: ";") }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ").map(String.init)
        guard let name = words.first(where: { !kinds.contains($0) }) else { return nil }
        return (offset, String(name.prefix { $0 != "." }))
    }
}

/// Returns true if a path is below a folder of tests, which `make test` runs.
private func isInTests(_ path: String) -> Bool {
    path.hasPrefix("Tests/") || path.hasPrefix("clients/swift/Tests/")
}

/// Returns the conditions of compilation around an offset, the outer ones first. `#else` has an empty condition, as have
/// negated ones.
private func conditions(at offset: Int, in file: SourceFile) -> [String] {
    var conditions: [String] = []
    for line in SwiftScanner(file.text).code[..<offset].split(separator: UInt8(ascii: "\n")) {
        let words = String(decoding: line, as: UTF8.self).split(separator: " ").map(String.init)
        let condition = words.dropFirst().filter { !$0.hasPrefix("!") }.joined(separator: " ")
        switch words.first {
        case "#if": conditions.append(condition)
        case "#elseif", "#else": conditions = conditions.dropLast() + [condition]
        case "#endif": conditions = conditions.dropLast()
        default: break
        }
    }
    return conditions
}

/// Returns the offsets of tests with a condition. The allowed ones are for tests that need root, user namespaces or a
/// private PostgreSQL.
private func testsUnderConditions(in file: SourceFile) -> [Int] {
    let code = SwiftScanner(file.text).code
    let allowed = [
        ".enabled(if: SocketProxy.isPossible)", ".enabled(if: geteuid() == 0,",
        ".enabled(if: PgBouncer.supportsNamedStatements)",
        ".enabled(reason) { try await TestDatabase.isOnCitus", ".enabled(reason) { await canReplaceAuthorities()",
    ]
    return offsets(of: ".enabled(", in: code).filter { offset in
        !allowed.contains { code[offset...].starts(with: $0.utf8) }
    }
}

/// Returns a violation for each of the words in the code of a file, without comments and literals. A word directly
/// after `prefix` does not count.
private func occurrences(
    of words: [String],
    notAfter prefix: String? = nil,
    in file: SourceFile,
    _ reason: (String) -> String
) -> [Violation] {
    let code = SwiftScanner(file.text).code
    return words.flatMap { word in
        offsets(of: word, in: code)
            .filter { offset in prefix.map { !code[..<offset].reversed().starts(with: $0.utf8.reversed()) } ?? true }
            .map { file.violation(at: $0, reason(word)) }
    }
}

/// Returns true if a literal looks like a statement: a verb in capitals with text after it, or a lower-case form that
/// is not English.
private func looksLikeSQL(_ literal: String) -> Bool {
    let words = literal.split(maxSplits: 40) { $0.isWhitespace || $0 == "\\" }.map(String.init)
    guard let verb = words.first else { return false }
    if ["BEGIN", "COMMIT", "ROLLBACK"].contains(verb) { return true }
    let verbs = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CREATE", "ALTER", "DROP", "TRUNCATE", "COPY", "SET", "LOCK",
        "GRANT", "LISTEN", "NOTIFY", "EXPLAIN", "VACUUM",
    ]
    if words.count > 1, verbs.contains(verb) { return true }
    switch verb {
    case "select": return words.contains("from")
    case "insert": return words.dropFirst().first == "into"
    case "delete": return words.dropFirst().first == "from" && words.count > 2 && words.contains("where")
    case "update": return words.dropFirst(2).first == "set" && words.contains("=")
    default: return false
    }
}

/// Returns true if the slash at `offset` continues a URL or a relative path, and false if it begins an absolute one.
private func continuesPath(at offset: Int, in file: SourceFile) -> Bool {
    guard offset > 0 else { return false }
    let bytes = Array(file.text.utf8)
    switch bytes[offset - 1] {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): return true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"): return true
    case UInt8(ascii: "}"), UInt8(ascii: ")"), UInt8(ascii: "*"): return true
    default: return false
    }
}

import AccountTestSupport
import FoundationEssentials
import JSON
import Postgres
import Subprocess
import Testing

/// `concord branding`; the real program.
struct BrandingCommandTests {
    private static func withProject(_ body: @Sendable (Folder, TestDatabase) async throws -> Void) async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                for fixture in LogoFixture.allCases {
                    try Data(fixture.bytes).write(to: URL(filePath: folder.path(fixture.rawValue)))
                }
                try await body(folder, database)
            }
        }
    }

    private static func shown(_ database: TestDatabase) async throws -> JSONValue {
        let ending = try await ConcordCommand.run(["branding", "show", "--format", "json"], database)
        #expect(ending.status == .exited(0), "\(ending.error)")
        return try JSONValue(parsing: Array(ending.output.utf8))
    }

    @Test func `branding is shown with its contrast, set, and reset`() async throws {
        try await Self.withProject { folder, database in
            let set = [
                "branding", "set", "--name", "Acme Bank", "--logo", folder.path("png"), "--accent", "#0A664C",
                "--support-url", "mailto:help@acme.example", "--language", "th", "--footer", "แอคมี",
            ]
            let dry = try await ConcordCommand.run(set + ["--dry-run"], database)
            #expect(dry.status == .exited(0), "\(dry.error)")
            #expect(dry.output.contains("concord.displayName") && dry.output.contains("- → Acme Bank"), "\(dry.output)")
            #expect(dry.output.contains("6.37:1") && dry.output.contains("#51927f"), "\(dry.output)")
            #expect(try await Self.shown(database)["branding"] == [:])
            #expect(try await database.count("SELECT count(*) FROM project_images") == 0)

            let unsure = try await ConcordCommand.run(set, database)
            #expect(unsure.status == .exited(1) && unsure.error.contains("nothing was changed"))
            let done = try await ConcordCommand.run(set + ["--yes", "--reason", "launch"], database)
            #expect(done.status == .exited(0) && done.output.hasSuffix("version 2 is in force\n"), "\(done.error)")
            let again = try await ConcordCommand.run(set + ["--yes"], database)
            #expect(again.status == .exited(0) && again.output.contains("nothing was changed"), "\(again.output)")

            let shown = try await Self.shown(database)
            #expect(shown["branding"]?["name"] == "Acme Bank" && shown["branding"]?["accentColor"] == "#0a664c")
            #expect(shown["branding"]?["texts.th.footer"] == "แอคมี")
            #expect(shown["contrasts"]?.array?.count == 6)
            let history = try await ConcordCommand.run(["policy", "history"], database)
            #expect(history.output.contains("launch"), "\(history.output)")

            let reset = try await ConcordCommand.run(["branding", "reset", "--yes"], database)
            #expect(reset.status == .exited(0), "\(reset.error)")
            #expect(try await Self.shown(database)["branding"] == ["name": "Acme Bank"])
            let unnamed = try await ConcordCommand.run(["branding", "set", "--name", "", "--yes"], database)
            #expect(unnamed.status == .exited(0), "\(unnamed.error)")
            #expect(try await Self.shown(database)["branding"] == [:])
        }
    }

    @Test func `bad values and bad images are refused, and nothing is stored`() async throws {
        try await Self.withProject { folder, database in
            for (arguments, words) in [
                ([], "give at least one value"),
                (["--accent", "#ffee00"], "1.09:1 on the light page #f3f5f8"), (["--accent", "red"], "#rrggbb"),
                (["--support-url", "javascript:alert(1)"], "concord.branding.supportUrl"),
                (["--privacy-url", "http://acme.example"], "concord.branding.privacyUrl"),
                (["--footer", "<script>"], "concord.branding.texts.en.footer"),
                (["--greeting", "a\u{202E}b"], "concord.branding.texts.en.greeting"),
                (["--language", "de", "--footer", "x"], "--language"),
            ] {
                let ending = try await ConcordCommand.run(["branding", "set", "--yes"] + arguments, database)
                #expect(ending.status == .exited(64) && ending.error.contains(words), "\(arguments): \(ending.error)")
            }
            try folder.write("logo.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>")
            for (file, words) in [
                (folder.path("logo.svg"), "PNG, JPEG or WebP"), (folder.path("animatedPNG"), "animated"),
                (folder.path("widePNG"), "1025 × 16"), ("/dev/zero", "65536 bytes"),
                (folder.path("none"), "No such file"),
            ] {
                let ending = try await ConcordCommand.run(["branding", "set", "--yes", "--logo", file], database)
                #expect(ending.status == .exited(65) && ending.error.contains(words), "\(file): \(ending.error)")
            }
            #expect(try await database.count("SELECT version FROM project_config") == 1)
            #expect(try await database.count("SELECT count(*) FROM project_images") == 0)
        }
    }

    @Test func `an older version whose logo is deleted comes into force without it, and the command says so`()
        async throws
    {
        try await Self.withProject { folder, database in
            func succeed(_ arguments: [String]) async throws -> ConcordCommand.Ending {
                let ending = try await ConcordCommand.run(arguments, database)
                #expect(ending.status == .exited(0), "\(arguments): \(ending.error)")
                return ending
            }
            _ = try await succeed(["branding", "set", "--name", "Acme", "--logo", folder.path("png"), "--yes"])
            let digest = try #require(try await Self.shown(database)["branding"]?["logo"]?.string)
            try folder.write("older.yaml", try await succeed(["policy", "show"]).output)
            _ = try await succeed(["branding", "set", "--name", "Bank", "--logo", folder.path("webp"), "--yes"])

            // Of a logo that is still stored, nothing is lost.
            _ = try await succeed(["policy", "apply", folder.path("older.yaml"), "--yes"])
            #expect(try await Self.shown(database)["branding"] == ["name": "Acme", "logo": .string(digest)])
            _ = try await succeed(["branding", "set", "--name", "Bank", "--logo", folder.path("webp"), "--yes"])

            // As 20 newer logos leave it.
            try await database.execute("DELETE FROM project_images WHERE content_type = 'image/png'")
            let back = try await succeed(["policy", "apply", folder.path("older.yaml"), "--yes"])
            #expect(back.error.contains("concord.branding.logo: the database no longer has the image \(digest)"))
            #expect(try await Self.shown(database)["branding"] == ["name": "Acme"])
            let again = try await succeed(["policy", "apply", folder.path("older.yaml"), "--yes"])
            #expect(again.output.contains("in force already"), "\(again.output)")

            try folder.write("typed.yaml", "concord.branding.logo: \(String(repeating: "a", count: 64))\n")
            let unknown = try await ConcordCommand.run(
                ["policy", "apply", folder.path("typed.yaml"), "--yes"],
                database
            )
            #expect(unknown.status == .exited(1) && unknown.error.contains("the database has no image"))
        }
    }

    @Test func `two commands at the same time both take effect`() async throws {
        try await Self.withProject { folder, database in
            async let colour = ConcordCommand.run(["branding", "set", "--accent", "#0a664c", "--yes"], database)
            async let logo = ConcordCommand.run(["branding", "set", "--logo", folder.path("webp"), "--yes"], database)
            for ending in [try await colour, try await logo] {
                #expect(ending.status == .exited(0), "\(ending.error)")
            }
            let branding = try await Self.shown(database)["branding"]
            #expect(branding?["accentColor"] == "#0a664c" && branding?["logo"]?.string?.count == 64)
        }
    }
}

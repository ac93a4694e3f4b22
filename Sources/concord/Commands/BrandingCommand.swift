import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord branding`: how pages and mails look.
struct BrandingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "branding",
        abstract: "Show, set or reset the name, logo, colours, links and texts of pages and mails.",
        discussion: """
            Branding is part of the project's configuration: each change makes a version, which concord policy history \
            lists.
            """,
        subcommands: [Show.self, Set.self, Reset.self]
    )

    /// A change that the project's configuration refuses.
    fileprivate static func change(_ body: JSONValue, mask: [String]) throws -> ProjectConfigChange {
        do {
            return try ProjectConfigChange(body: body, mask: mask.joined(separator: ","))
        } catch {
            throw ValidationError(error.all.map(\.text).joined(separator: "\n"))
        }
    }

    /// Shows the change, asks, and applies it.
    fileprivate static func apply(
        _ change: ProjectConfigChange,
        images: [ProjectImage] = [],
        reason: String?,
        dryRun: Bool,
        yes: Bool,
        _ database: DatabaseConfiguration
    ) async throws {
        try await withClient(database.postgres) { client in
            let store = AccountStore(client: client)
            guard let present = try await PolicyState.load(store) else { throw StartupFailure.noProject }
            guard case .success(let next) = present.after(PolicyProposal(settings: change, providers: [:])) else {
                return
            }
            let changes = present.changes(to: next)
            if changes.isEmpty {
                // The image itself may be missing: a migration down deletes images, not the settings that name them.
                guard !images.isEmpty, !dryRun else {
                    return try say("version \(present.project.version) is in force already; nothing was changed")
                }
            } else {
                try say(PolicyText.lines(changes).joined(separator: "\n"))
                let contrasts = BrandingReport(next.project).contrastTable
                if !contrasts.isEmpty { try say("\n\(contrasts)") }
                try flushOutput()
                if dryRun { return }
                try await agree(to: "Bring this branding into force?", isAgreed: yes)
            }
            let outcome = try await store.changeProjectSettings(
                at: Effects.system.now(),
                by: .operator(reason: reason),
                images: images
            ) { change.change(of: $0) }
            switch outcome {
            case .written(let project): try say("version \(project.version) is in force")
            case .unchanged(let project):
                try say("version \(project.version) is in force already; nothing was changed")
            case .missing: throw StartupFailure.noProject
            // Branding names no number, no version and no provider, and brings its images.
            case .phoneNumberOwned, .imageMissing, .otherVersion, .providerNotRegistered:
                throw StartupFailure("the project was changed meanwhile; nothing was changed. Try again", .answerIsNo)
            }
        }
    }
}

extension BrandingCommand {
    /// `concord branding show`
    struct Show: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the branding in force, with the contrast of its colours.",
            discussion: """
                EXAMPLES
                  concord branding show
                  concord branding show --format json
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let project = try await withClient(database.postgres) { client in
                try await AccountStore(client: client).project()?.project
            }
            guard let project else { throw StartupFailure.noProject }
            let report = BrandingReport(project)
            try say(format == .json ? report.json : report.text)
        }
    }

    /// `concord branding set`
    struct Set: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what the given values would change, ask, and set them.",
            discussion: """
                Values that are not given stay as they are; an empty value ("") resets one. An accent colour needs a \
                contrast of 4.5:1 on the backgrounds of pages and mails (WCAG 2.2); a refusal names the nearest shade \
                that passes. A logo is a PNG, JPEG or WebP image of at most \(LogoImage.bytesMax) bytes, each side \
                \(LogoImage.sideBounds.lowerBound) to \(LogoImage.sideBounds.upperBound) pixels. Running servers follow \
                within \(ProjectCache.stalenessSeconds) seconds.

                Exits with 1 if the answer is no; with 64 if a value is refused; with 65 if a logo is refused.

                EXAMPLES
                  concord branding set --name "Acme Bank" --logo acme.png --accent "#0a664c"
                  concord branding set --support-url mailto:help@acme.example --dry-run
                  concord branding set --language th --footer "Acme"
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: ArgumentHelp("Name of the app: concord.displayName.", valueName: "text"))
        var name: String?

        @Option(help: ArgumentHelp("Image that pages and mails show above their text.", valueName: "file"))
        var logo: String?

        @Option(help: ArgumentHelp("Image that pages show instead in dark mode.", valueName: "file"))
        var logoDark: String?

        @Option(help: ArgumentHelp("Colour of buttons and links, such as #0a664c.", valueName: "#rrggbb"))
        var accent: String?

        @Option(
            help: ArgumentHelp(
                "The same in dark mode. Default: the nearest shade of --accent that can be read.",
                valueName: "#rrggbb"
            )
        )
        var accentDark: String?

        @Option(help: ArgumentHelp("Where people find help: https or mailto.", valueName: "url"))
        var supportUrl: String?

        @Option(help: ArgumentHelp("The privacy policy: https.", valueName: "url"))
        var privacyUrl: String?

        @Option(help: ArgumentHelp("The terms of service: https.", valueName: "url"))
        var termsUrl: String?

        @Option(help: ArgumentHelp("Line above each page.", valueName: "text"))
        var greeting: String?

        @Option(help: ArgumentHelp("Line at the end of each page and mail.", valueName: "text"))
        var footer: String?

        @Option(
            help: ArgumentHelp(
                "Language of --greeting and --footer: \(BrandingText.languages.joined(separator: ", ")).",
                valueName: "tag"
            )
        )
        var language = "en"

        @Option(
            help: ArgumentHelp(
                "Reason for the change; stored with the version and logged. Name no person in it.",
                valueName: "text"
            )
        )
        var reason: String?

        @Flag(help: "Only show what would change, with the contrast of the colours.")
        var dryRun = false

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        /// The fields that options name as text.
        private var texts: [(path: String, value: String)] {
            let given = [
                ("concord.displayName", name), ("concord.branding.accentColor", accent),
                ("concord.branding.accentColorDark", accentDark), ("concord.branding.supportUrl", supportUrl),
                ("concord.branding.privacyUrl", privacyUrl), ("concord.branding.termsUrl", termsUrl),
                ("concord.branding.texts.\(language).greeting", greeting),
                ("concord.branding.texts.\(language).footer", footer),
            ]
            return given.compactMap { path, value in value.map { (path, $0) } }
        }

        private var files: [(place: LogoPlace, path: String)] {
            [(LogoPlace.light, logo), (.dark, logoDark)].compactMap { place, path in path.map { (place, $0) } }
        }

        func validate() throws {
            guard BrandingText.languages.contains(language) else {
                throw ValidationError("--language: give one of \(BrandingText.languages.joined(separator: ", "))")
            }
            guard !texts.isEmpty || !files.isEmpty else { throw ValidationError("give at least one value to set") }
            if let reason, !AccountMerges.isReason(reason) {
                throw ValidationError("--reason: give at most \(Attribution.lengthMax) characters, all on one line")
            }
            _ = try change([])
        }

        /// - `images`: logos by their places.
        private func change(_ images: [(place: LogoPlace, image: ProjectImage)]) throws -> ProjectConfigChange {
            var body = JSONValue.object([:])
            for (path, value) in texts where !value.isEmpty {
                body = body.setting(.string(value), at: path.split(separator: ".").map(String.init)[...])
            }
            for (place, image) in images { body = body.setting(.string(image.digest), at: place.field.path[...]) }
            return try BrandingCommand.change(body, mask: texts.map(\.path) + files.map(\.place.field.name))
        }

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let now = Effects.system.now()
            var images: [(place: LogoPlace, image: ProjectImage)] = []
            for (place, path) in files where !path.isEmpty {
                images.append((place, try Self.logo(path).stored(at: now)))
            }
            try await BrandingCommand.apply(
                try change(images),
                images: images.map(\.image),
                reason: reason,
                dryRun: dryRun,
                yes: yes,
                database
            )
        }

        /// Reads at most one byte more than a logo may have: the path may name a device without an end.
        private static func logo(_ path: String) throws -> LogoImage {
            var bytes: [UInt8] = []
            do throws(AccountFileError) {
                let reader = try ByteReader(path: path)
                while bytes.count <= LogoImage.bytesMax, let byte = try reader.next() { bytes.append(byte) }
            } catch {
                throw StartupFailure("cannot read the logo \(error)", .badData)
            }
            do throws(LogoImage.Refusal) {
                return try LogoImage(bytes)
            } catch .tooLarge {
                throw StartupFailure("\(path): the logo has more than \(LogoImage.bytesMax) bytes", .badData)
            } catch {
                throw StartupFailure("\(path): the logo \(error.text)", .badData)
            }
        }
    }

    /// `concord branding reset`
    struct Reset: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what would change, ask, and remove logo, colours, links and texts.",
            discussion: """
                The name of the app stays, because mails and text messages use it. To remove it: \
                concord branding set --name ""

                Exits with 1 if the answer is no.

                EXAMPLES
                  concord branding reset --dry-run
                  concord branding reset --yes
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Flag(help: "Only show what would change.")
        var dryRun = false

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let change = try BrandingCommand.change(.object([:]), mask: ["concord.branding"])
            try await BrandingCommand.apply(change, reason: nil, dryRun: dryRun, yes: yes, database)
        }
    }
}

/// The output formats of a project's branding.
struct BrandingReport {
    private let project: ProjectRecord
    private let branding: Branding

    init(_ project: ProjectRecord) {
        self.project = project
        branding = Branding(stored: project.settings)
    }

    private var fields: [(name: String, value: String)] {
        ProjectConfigField.all.compactMap { field in
            guard field.name == "concord.displayName" || field.name.hasPrefix("concord.branding."),
                let value = field.value(in: project.settings)?.string
            else { return nil }
            let name =
                field.name == "concord.displayName" ? "name" : String(field.name.dropFirst("concord.branding.".count))
            return (name, value)
        }
    }

    private var palettes: [AccentPalette] { BrandingScheme.allCases.compactMap { branding.palettes[$0] } }

    /// Each pair of colours with its contrast; empty without an accent colour.
    var contrastTable: String {
        let rows = palettes.flatMap { palette in
            palette.contrasts.map { contrast in
                [
                    palette.scheme.rawValue, contrast.use, contrast.color.text, contrast.background.text,
                    ratioText(contrast.ratio), "at least \(ratioText(AccentPalette.contrastMin))",
                ]
            }
        }
        return rows.isEmpty ? "" : TextTable.text([["SCHEME", "USE", "COLOUR", "ON", "CONTRAST", "NEEDED"]] + rows)
    }

    var text: String {
        let head = TextTable.text([("version", String(project.version))] + fields.map { ($0.name, $0.value) })
        return contrastTable.isEmpty ? head : "\(head)\n\n\(contrastTable)"
    }

    var json: String {
        let values = fields.map { ($0.name, JSONValue.string($0.value)) }
        let contrasts = palettes.flatMap { palette in
            palette.contrasts.map { contrast in
                JSONValue.object([
                    "scheme": .string(palette.scheme.rawValue), "use": .string(contrast.use),
                    "color": .string(contrast.color.text), "background": .string(contrast.background.text),
                    "ratio": .double((contrast.ratio * 100).rounded(.down) / 100),
                ])
            }
        }
        return JSONValue.object([
            "version": .integer(project.version),
            "branding": .object([String: JSONValue](uniqueKeysWithValues: values)),
            "contrasts": .array(contrasts),
        ]).text
    }
}

import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord account merge`: merges two accounts, and undoes merges.
struct AccountMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merge two accounts, or undo a merge.",
        subcommands: [Run.self, Show.self, Undo.self, Abort.self],
        defaultSubcommand: Run.self
    )

    struct Options: ParsableArguments {
        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: ArgumentHelp("Tenant of the accounts.", valueName: "id"))
        var tenant = ""

        @Flag(help: "Print addresses, phone numbers and providers' ids of users unmasked.")
        var showIdentifiers = false

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        var style: Style { Style(showsIdentifiers: showIdentifiers) }

        /// Runs `body` on the database of the configuration.
        func withMerges<Output: Sendable>(
            _ body: @escaping @Sendable (AccountMerges, TenantID) async throws -> Output
        ) async throws -> Output {
            let serving = try ServeConfiguration(try configuration.sources())
            return try await withSealingStore(serving) { store, sealer in
                guard let project = try await ProjectCache.load(store: store, trust: .preset) else {
                    throw StartupFailure(
                        "the database holds no project yet; create it with: concord project init --id PROJECT-ID",
                        .badConfiguration
                    )
                }
                try await store.refreshWebhooks()
                let merges = AccountMerges(
                    store: store,
                    sealer: sealer,
                    effects: Effects.system,
                    settings: project.settings
                )
                do {
                    return try await body(merges, TenantID(tenant))
                } catch let denial as Denial {
                    if case .merge(let denial) = denial {
                        complain(MergeText.denial(denial))
                    } else {
                        complain("refused")
                    }
                    throw ExitCode.answerIsNo
                }
            }
        }
    }
}

extension AccountMergeCommand {
    /// `concord account merge SURVIVOR ABSORBED`
    struct Run: ReportingCommand {
        static let configuration = CommandConfiguration(
            commandName: "run",
            abstract: "Merge two accounts: the second becomes part of the first.",
            discussion: """
                Shows the result first. If both accounts have a value that an account can have only once, choose one \
                with --take or --keep. Concord then asks the webhook receivers, and the command waits for their \
                answers. The merge can be undone for as long as the project allows (concord.merges.undoSeconds). Exits \
                with 1 if nothing was merged, or if the accounts were merged before; with --dry-run, if nothing would \
                be merged; with 75 on Ctrl-C.

                EXAMPLES
                  concord account merge SURVIVOR ABSORBED --dry-run
                  concord account merge SURVIVOR ABSORBED --take displayName \\
                      --reason "ticket 4711"
                """
        )

        @OptionGroup var options: Options

        @Argument(help: ArgumentHelp("Uid of the account that stays.", valueName: "survivor"))
        var survivor: String

        @Argument(help: ArgumentHelp("Uid of the account that goes.", valueName: "absorbed"))
        var absorbed: String

        @Option(
            help: ArgumentHelp(
                "Values to take from the account that goes: \(MergeField.fixed.map(\.name).joined(separator: ", ")), "
                    + "or a provider such as google.com.",
                valueName: "fields"
            )
        )
        var take: String?

        @Option(help: ArgumentHelp("Values to keep from the account that stays.", valueName: "fields"))
        var keep: String?

        @Option(help: ArgumentHelp("Why both accounts belong to one person; stored with the merge.", valueName: "text"))
        var reason: String?

        @Flag(help: "Only show the result, and change nothing.")
        var dryRun = false

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        func validate() throws {
            for uid in [survivor, absorbed] where UserID(uid) == nil { throw ValidationError("not a uid: \(uid)") }
            _ = try choices()
            if dryRun { return }
            guard let reason, AccountMerges.isReason(reason) else {
                throw ValidationError(
                    "--reason: say in at most 500 characters why both accounts belong to one person, or give --dry-run"
                )
            }
        }

        private func choices() throws -> [MergeField: MergeSide] {
            var choices: [MergeField: MergeSide] = [:]
            for (option, text, side) in [("--keep", keep, .survivor), ("--take", take, .absorbed)]
                as [(String, String?, MergeSide)]
            {
                for name in text?.split(separator: ",") ?? [] {
                    guard let field = MergeField(name: String(name)) else {
                        let question = Suggestion.question(about: String(name), among: MergeField.fixed.map(\.name))
                        throw ValidationError("\(option): accounts have no field \(name)\(question)")
                    }
                    guard choices.updateValue(side, forKey: field) == nil else {
                        throw ValidationError("\(name) is given twice; keep one")
                    }
                }
            }
            return choices
        }

        func perform() async throws {
            guard let survivor = UserID(survivor), let absorbed = UserID(absorbed) else { return }
            let request = MergeRequest(
                survivor: survivor,
                absorbed: absorbed,
                choices: try choices(),
                requester: .administrator
            )
            let (style, format, reason, dryRun, yes) = (options.style, options.format, reason, dryRun, yes)
            try await options.withMerges { merges, tenant in
                let preview = try await merges.preview(request, tenant: tenant)
                // With JSON, only one document is printed: the preview, or the merge.
                switch format {
                case .text: try say(MergeText.preview(preview, style))
                case .json:
                    let isStopped = dryRun || preview.waiting != nil || !preview.plan.undecided.isEmpty
                    if isStopped { try say(MergeText.json(preview, style)) }
                }
                try flushOutput()
                let undecided = preview.plan.undecided
                if let waiting = preview.waiting { complain(MergeText.denial(.alreadyMerging(waiting))) }
                if !undecided.isEmpty { complain(MergeText.denial(.undecided(undecided))) }
                guard preview.waiting == nil, undecided.isEmpty else { throw ExitCode.answerIsNo }
                if dryRun { return }
                try await agree(to: "Merge these accounts?", isAgreed: yes)
                var merge = try await merges.begin(request, reason: reason, tenant: tenant)
                let interrupt = Interrupt(saying: nil)
                if merge.state == .prepared {
                    try await interrupt.watching {
                        complain(
                            "waiting for webhook receivers; merge \(merge.id) continues without this command"
                        )
                        while merge.state == .prepared {
                            try await Task.sleep(for: .milliseconds(500))
                            if interrupt.hasCome {
                                complain("interrupted; to see how it ends: concord account merge show \(merge.id)")
                                throw ExitCode.stopped
                            }
                            merge = try await merges.advance(merge.id, tenant: tenant)
                        }
                    }
                }
                try say(MergeText.merge(merge, format))
                if merge.state == .aborted { throw ExitCode.answerIsNo }
            }
        }
    }

    /// `concord account merge show`
    struct Show: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a merge by its id; or for a uid, its current account and its merges.",
            discussion: """
                Exits with 1 if there is none.

                EXAMPLES
                  concord account merge show UID
                """
        )

        @OptionGroup var options: Options

        @Argument(help: ArgumentHelp("Id of a merge, or a uid.", valueName: "id"))
        var id: String

        func perform() async throws {
            let (id, format) = (id, options.format)
            try await options.withMerges { merges, tenant in
                do {
                    let merge = try await merges.merge(id, tenant: tenant)
                    return try say(format == .json ? MergeText.json([merge], current: nil) : MergeText.merge(merge))
                } catch is Denial {}
                var (found, current): ([Merge], UserID?) = ([], nil)
                if let user = UserID(id) { (found, current) = try await merges.merges(of: user, tenant: tenant) }
                if format == .json { try say(MergeText.json(found, current: current)) }
                guard !found.isEmpty else {
                    complain("there is no such merge, and no account with this uid was merged")
                    throw ExitCode.answerIsNo
                }
                guard format == .text else { return }
                if let current { try say("\(id) is now \(current.rawValue)\n") }
                try say(found.map(MergeText.merge).joined(separator: "\n\n"))
            }
        }
    }

    /// `concord account merge undo`
    struct Undo: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Undo a merge: restore both accounts as they were.",
            discussion: """
                If later changes would be overwritten, lists them and undoes nothing. With --keep-later-changes, they \
                stay where possible, and everything else is restored. Exits with 1 if nothing was undone; with \
                --dry-run, if nothing would be undone; with 75 on Ctrl-C at the question.

                EXAMPLES
                  concord account merge undo MERGE --dry-run
                """
        )

        @OptionGroup var options: Options

        @Argument(help: ArgumentHelp("Id of the merge.", valueName: "merge"))
        var id: String

        @Flag(help: "Keep changes that were made after the merge.")
        var keepLaterChanges = false

        @Flag(help: "Only show what prevents the undo, and exit as the undo would.")
        var dryRun = false

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        func perform() async throws {
            let (id, keepsLaterChanges, dryRun, yes) = (id, keepLaterChanges, dryRun, yes)
            let format = options.format
            try await options.withMerges { merges, tenant in
                let merge = try await merges.merge(id, tenant: tenant)
                if format == .text { try say(MergeText.merge(merge)) }
                let preview = try await merges.previewUndo(id, keepsLaterChanges: keepsLaterChanges, tenant: tenant)
                switch format {
                case .text:
                    if !preview.changes.isEmpty { try say("\nChanged since\n" + MergeText.changes(preview.changes)) }
                case .json: if dryRun || !preview.isPossible { try say(MergeText.json(preview)) }
                }
                try flushOutput()
                guard preview.isPossible else {
                    complain(MergeText.prevented(by: preview.changes))
                    throw ExitCode.answerIsNo
                }
                if dryRun { return }
                try await agree(to: "Undo this merge?", isAgreed: yes)
                let undone = try await merges.undo(id, keepsLaterChanges: keepsLaterChanges, tenant: tenant)
                try say(format == .json ? MergeText.json(undone) : MergeText.undone(undone))
            }
        }
    }

    /// `concord account merge abort`
    struct Abort: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Abort a merge that waits for webhook receivers.",
            discussion: """
                Exits with 1 if the merge no longer waits.

                EXAMPLES
                  concord account merge abort MERGE
                """
        )

        @OptionGroup var options: Options

        @Argument(help: ArgumentHelp("Id of the merge.", valueName: "merge"))
        var id: String

        func perform() async throws {
            let (id, format) = (id, options.format)
            try await options.withMerges { merges, tenant in
                try say(MergeText.merge(try await merges.withdraw(id, tenant: tenant), format))
            }
        }
    }
}

/// The texts of merges.
enum MergeText {
    /// A table of both accounts and the result, then the dropped values and the sessions that end.
    static func preview(_ preview: MergePreview, _ style: Style) -> String {
        let (survivor, absorbed, plan) = (preview.survivor, preview.absorbed, preview.plan)
        let users = [MergeSide.survivor: survivor, .absorbed: absorbed]
        func text(of line: MergePlan.Line, _ side: MergeSide) -> String {
            users[side].flatMap { Self.text(of: line.field, $0, style) } ?? "-"
        }
        let rows =
            [
                ["", "STAYS", "GOES", "THEN", "FROM"],
                ["uid", survivor.id.rawValue, absorbed.id.rawValue, survivor.id.rawValue, words(for: .survivor)],
            ]
            + plan.lines.map { line in
                var texts = MergeSide.allCases.map { text(of: line, $0) }
                if texts[0] == texts[1], line.owners.count == 2, isUnique(line.field) { texts[1] += " (differs)" }
                guard let taken = line.taken else { return [line.field.name] + texts + ["to be chosen", ""] }
                return [line.field.name] + texts + [text(of: line, taken), line.isAlike ? "both" : words(for: taken)]
            } + factors(preview, style)
        var lines = TextTable.lines(rows, fitting: Terminal.width)
        let dropped = plan.lines.compactMap { line in
            line.dropped.map { [line.field.name, text(of: line, $0), "of \(words(for: $0))"] }
        }
        if !dropped.isEmpty { lines += ["", "Dropped"] + TextTable.lines(dropped).map { "  \($0)" } }
        lines += [
            "",
            plan.endsSessions
                ? "Every session of both accounts ends." : "Every session of the account that goes ends.",
        ]
        return lines.joined(separator: "\n")
    }

    /// The preview in the form of the route, with masked identifiers.
    static func json(_ preview: MergePreview, _ style: Style) -> String {
        JSONWriter.text { writer in
            writer.fields(of: preview) { field, user in text(of: field, user, style) }
        }
    }

    /// The merges of an account in the form of the route.
    static func json(_ merges: [Merge], current: UserID?) -> String {
        JSONWriter.text { writer in
            writer.field("userId", current?.rawValue)
            writer.field("merges", objects: merges) { $0.fields(of: $1) }
        }
    }

    /// The changes that prevent an undo, in the form of the route.
    static func json(_ preview: MergeUndoPreview) -> String {
        JSONWriter.text { writer in
            writer.field("changes", array: preview.changes) { $0.laterChange($1) }
            writer.field("isPossible", preview.isPossible)
        }
    }

    static func json(_ undone: UndoneMerge) -> String {
        JSONWriter.text { writer in
            writer.fields(of: undone.merge)
            writer.field("kept", array: undone.kept) { $0.laterChange($1) }
        }
    }

    /// Returns true for a field that two accounts never share. Masked, different values can look alike.
    private static func isUnique(_ field: MergeField) -> Bool {
        switch field {
        case .email, .phoneNumber, .provider: true
        case .password, .profile, .customAttributes: false
        }
    }

    private static func words(for side: MergeSide) -> String {
        switch side {
        case .survivor: "the account that stays"
        case .absorbed: "the account that goes"
        }
    }

    /// A row for each second factor. There is no choice among them.
    private static func factors(_ preview: MergePreview, _ style: Style) -> [[String]] {
        let theirs = preview.absorbed.secondFactors
        func text(_ factor: SecondFactor) -> String {
            factor.number.map { style.text(.number($0.rawValue)) } ?? factor.kind.rawValue
        }
        let kept = preview.survivor.secondFactors.map { factor in
            let isBoth = factor.number.map { number in theirs.contains { $0.number == number } } ?? false
            return [text(factor), isBoth ? text(factor) : "-", text(factor), isBoth ? "both" : words(for: .survivor)]
        }
        let moved = theirs.filter { preview.plan.movedFactors.contains($0.id) }.map { factor in
            ["-", text(factor), text(factor), words(for: .absorbed)]
        }
        return (kept + moved).map { ["second factor"] + $0 }
    }

    private static func text(of field: MergeField, _ user: UserRecord, _ style: Style) -> String? {
        guard let text = user.text(of: field) else { return nil }
        switch field {
        case .email:
            return style.text(.address(text)) + (user.account.isEmailVerified ? "" : ", not verified")
        case .password: return text + (user.passwordUpdatedAt.map { " on \(AccountText.day($0))" } ?? "")
        case .phoneNumber: return style.text(.number(text))
        case .provider(let provider):
            return String(style.text(.subject("\(provider.rawValue)/\(text)")).dropFirst(provider.rawValue.count + 1))
        // A value of a user could change the terminal.
        default:
            let printable = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
            return String(String(String.UnicodeScalarView(printable)).prefix(40))
        }
    }

    static func merge(_ merge: Merge, _ format: OutputFormat) -> String {
        format == .json ? JSONWriter.text { $0.fields(of: merge) } : Self.merge(merge)
    }

    static func merge(_ merge: Merge) -> String {
        var lines = [
            ("Merge", merge.id), ("State", merge.state.rawValue + (merge.abortReason.map { ": \($0.rawValue)" } ?? "")),
            ("Stays", merge.survivor.rawValue), ("Goes", merge.absorbed.rawValue),
            ("Asked by", merge.requestedBy.rawValue + (merge.reason.map { ": \($0)" } ?? "")),
            ("Prepared", RFC3339.text(merge.preparedAt)),
        ]
        if merge.state == .prepared { lines.append(("Waits until", RFC3339.text(merge.deadlineAt))) }
        if let endedAt = merge.endedAt { lines.append(("Ended", RFC3339.text(endedAt))) }
        if let undoUntil = merge.undoUntil, merge.state == .committed {
            lines.append(("Undo until", RFC3339.text(undoUntil)))
        }
        if let undoneAt = merge.undoneAt { lines.append(("Undone", RFC3339.text(undoneAt))) }
        return TextTable.text(lines)
    }

    static func changes(_ changes: [LaterChange]) -> String {
        changes.map { "  \($0.user): \($0.part.words), which \($0.canStay ? "can stay" : "prevents the undo")" }
            .joined(separator: "\n")
    }

    /// The later changes that prevent the undo of a merge, and the next step.
    static func prevented(by changes: [LaterChange]) -> String {
        guard changes.allSatisfy(\.canStay) else {
            return "nothing was undone: revert the changes that prevent the undo, and try again"
        }
        return """
            nothing was undone: later changes would be overwritten. With --keep-later-changes, they stay and everything else \
            is restored
            """
    }

    static func undone(_ undone: UndoneMerge) -> String {
        let kept = undone.kept.map(\.part.words).joined(separator: ", ")
        return "undone: \(undone.merge.absorbed.rawValue) is an account again"
            + (kept.isEmpty ? "" : "; later changes that stay: \(kept)")
    }

    static func denial(_ denial: MergeDenial) -> String {
        switch denial {
        case .refused(let refusal): "refused: \(refusal.rawValue)"
        case .undecided(let fields): "choose with --take or --keep: \(fields.map(\.name).joined(separator: ","))"
        case .absorbedSessionMissing: "proof of ownership of the other account is required"
        case .alreadyMerging(let merge):
            """
            merge \(merge.id), \(merge.absorbed.rawValue) into \(merge.survivor.rawValue), waits for webhook receivers until \
            \(RFC3339.text(merge.deadlineAt)) at the latest; until it ends, these accounts cannot be merged again
            to see its state: concord account merge show \(merge.id)
            to abort it: concord account merge abort \(merge.id)
            """
        case .alreadyMerged(let merge): "nothing was changed: this merge was committed before\n" + committed(merge)
        case .mergedAway(let merge): "refused: \(MergeRefusal.accountNotFound.rawValue)\n" + committed(merge)
        case .unknown: "there is no such merge"
        case .closed(let state): "nothing was changed: the merge is \(state.rawValue)"
        case .tooLate: "the merge can no longer be undone"
        case .laterChanges(let changes), .ownerUndo(.laterChanges(let changes)):
            prevented(by: changes) + "\n" + Self.changes(changes)
        case .ownerUndo(.needsAdministrator): "an administrator is needed"
        case .ownerUndo(.secondFactorRequired): "refused: \(MergeRefusal.secondFactorRequired.rawValue)"
        }
    }

    /// The merge that absorbed an account, and the command that undoes it.
    private static func committed(_ merge: Merge) -> String {
        """
        \(merge.absorbed.rawValue) was merged into \(merge.survivor.rawValue) on \(RFC3339.text(merge.endedAt ?? merge.preparedAt)): \
        merge \(merge.id)
        to undo it, until \(RFC3339.text(merge.undoUntil ?? merge.preparedAt)): concord account merge undo \(merge.id)
        """
    }
}

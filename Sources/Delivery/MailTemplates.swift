import EmbeddedFiles
import JSON
import Mustache

/// The texts of mails, by type and language: built-in templates, and an operator's templates that replace them.
///
/// A file is `TYPE.LANGUAGE.txt`, whose first line is the subject, `TYPE.LANGUAGE.html`, or `layout.html`, the frame of
/// every HTML body. They are Mustache templates. Every value in HTML is escaped, with any tag.
package struct MailTemplates: Sendable {
    /// Names of types. They are the names of the API, where it has one.
    package static let types = [
        "PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL", "RECOVER_EMAIL", "ADDRESS_IN_USE",
        "CONFLICT_PROOF", "METHODS_QUARANTINED", "ACCOUNTS_MERGED", "MERGE_UNDONE", "REVERT_SECOND_FACTOR_ADDITION",
        "REVERT_SIGN_IN_METHOD_CHANGE", "SIGN_IN_METHODS_CHANGED", "LOOKUP", "SIGN_UP_MAILBOX",
        "WRONG_DOOR",
        // The next one goes here.
    ]

    /// The types that a language of an operator may lack, because they are newer than its templates. They are rendered in
    /// English.
    static let optionalTypes: Set<String> = ["LOOKUP", "SIGN_UP_MAILBOX", "WRONG_DOOR"]

    /// The files in `Templates`.
    static let builtIn = EmbeddedFile.all(in: "Sources/Delivery/Templates")

    /// The language if no other fits.
    private static let languageByDefault = "en"
    private static let layoutName = "layout.html"

    /// The names that a template may use. The last three are filled in here.
    private static let names: Set<String> = [
        "LINK", "EMAIL", "NEW_EMAIL", "APP_NAME", "DISPLAY_NAME", "CODE", "PROVIDER", "ASKING_NAME", "ASKING_FROM",
        "METHODS", "ADDED", "REMOVED", "PASSWORD_CHANGED", "AT", "NUMBER", "UNTIL", "AFTER_RESET", "AFTER_PROOF",
        "AFTER_RECOVERY", "AFTER_AUDIT", "AFTER_UNDO", "BY_OPERATOR", "BY_OWNER", "ACCOUNT_URL", "ACCENT", "ON_ACCENT",
        "ACCENT_DARK", "ON_ACCENT_DARK", "LOGO_URL", "FOOTER", "SUPPORT_URL", "SUPPORT_LABEL", "PRIVACY_URL",
        "PRIVACY_LABEL", "TERMS_URL", "TERMS_LABEL", "WAYS", "URL", "METHOD", "BY_LINK", "BY_PASSWORD", "BY_PHONE",
        "BY_PROVIDER", "SETS_PASSWORD", "NO_ACCOUNT", "HAS_WAYS", "SUSPENDS_WAYS", "WRONG_PASSWORD", "LINKS_OFF",
        "SIGNED_UP", "LANGUAGE", "SUBJECT", ".",
    ]

    /// The names that a template must use.
    private static func namesNeeded(_ type: String) -> [String] {
        switch type {
        case "ADDRESS_IN_USE", "METHODS_QUARANTINED", "SIGN_IN_METHODS_CHANGED", "ACCOUNTS_MERGED", "MERGE_UNDONE": []
        case "CONFLICT_PROOF": ["CODE", "LINK"]
        case "LOOKUP": ["CODE", "URL"]
        case "WRONG_DOOR": ["URL"]
        default: ["LINK"]
        }
    }

    /// A file that cannot be used.
    package struct Mistake: Error, Sendable, Hashable {
        package let file: String
        package let problem: String
    }

    package struct Mistakes: Error, Sendable, Hashable {
        package let all: [Mistake]
    }

    /// The values of a mail. A section without a value is left out.
    package struct Values: Sendable, Hashable {
        package var text: [String: String]
        package var methods: [String]
        /// The sign-in methods that the account gained.
        package var added: [String]
        package var removed: [String]
        /// Buttons that lead to sign-in methods, by `URL`, `METHOD` and the kind of the method.
        package var ways: [[String: String]]

        package init(
            text: [String: String],
            methods: [String] = [],
            added: [String] = [],
            removed: [String] = [],
            ways: [[String: String]] = []
        ) {
            self.text = text
            self.methods = methods
            self.added = added
            self.removed = removed
            self.ways = ways
        }
    }

    /// A mail in one language.
    package struct Rendered: Sendable, Hashable {
        /// The language of the mail.
        package let language: String
        package let subject: String
        package let text: String
        package let html: String
    }

    /// The templates, by `TYPE.LANGUAGE.PART`.
    private let library: MustacheLibrary
    /// The languages of each optional type.
    private let optional: [String: Set<String>]
    /// The languages in which every other type exists, `en` first.
    package let languages: [String]

    /// - Parameter files: the templates of an operator.
    /// - Throws: all mistakes in them.
    package init(files: [(name: String, text: String)] = []) throws(Mistakes) {
        var library = MustacheLibrary()
        var mistakes: [Mistake] = []
        var parts: [String: Set<String>] = [:]
        for file in Self.builtIn.map({ ($0.name, String(decoding: $0.bytes, as: UTF8.self)) }) + files {
            let (name, text) = file
            do throws(Mistake) {
                try Self.add(name, text, to: &library)
                if let (_, language, _) = Self.parse(name) { parts[language, default: []].insert(name) }
            } catch {
                mistakes.append(error)
            }
        }
        for (language, found) in parts.sorted(by: { $0.key < $1.key }) {
            let wanted = Self.types.flatMap { type in
                let files = ["txt", "html"].map { "\(type).\(language).\($0)" }
                return Self.optionalTypes.contains(type) && found.isDisjoint(with: files) ? [] : files
            }
            for name in wanted where !found.contains(name) && !mistakes.contains(where: { $0.file == name }) {
                mistakes.append(
                    Mistake(file: name, problem: "is missing: a language needs every mail as .txt and .html")
                )
            }
        }
        guard mistakes.isEmpty else { throw Mistakes(all: mistakes) }
        self.library = library
        optional = Dictionary(
            uniqueKeysWithValues: Self.optionalTypes.map { type in
                (type, Set(parts.filter { $1.contains("\(type).\($0).txt") }.keys))
            }
        )
        languages = [Self.languageByDefault] + parts.keys.filter { $0 != Self.languageByDefault }.sorted()
    }

    /// Returns `nil` for an unknown type.
    ///
    /// `wanted`: languages in order of preference.
    package func render(_ type: String, in wanted: [String], _ values: Values) -> Rendered? {
        let language = language(for: wanted, of: type)
        // Every value becomes one line.
        let text = values.text.mapValues(HeaderText.line)
        let lists = ["METHODS": values.methods, "ADDED": values.added, "REMOVED": values.removed]
            .mapValues { $0.map(HeaderText.line) }
        var plain: [String: Any] = text
        plain.merge(lists) { $1 }
        let ways = values.ways.map { $0.mapValues(HeaderText.line) }
        plain["WAYS"] = ways
        plain["LANGUAGE"] = language
        var escaped: [String: Any] = text.mapValues(HTMLEscaping.escape)
        escaped.merge(lists.mapValues { $0.map(HTMLEscaping.escape) }) { $1 }
        escaped["WAYS"] = ways.map { $0.mapValues(HTMLEscaping.escape) }
        escaped["LANGUAGE"] = language
        guard let subject = library.render(plain, withTemplate: "\(type).\(language).subject") else { return nil }
        escaped["SUBJECT"] = HTMLEscaping.escape(subject)
        guard let plainText = library.render(plain, withTemplate: "\(type).\(language).txt"),
            let html = library.render(escaped, withTemplate: "\(type).\(language).html")
        else { return nil }
        return Rendered(language: language, subject: subject, text: plainText + Self.ending(text), html: html)
    }

    /// The project's line and links as lines of plain text, for every template of an operator too.
    private static func ending(_ text: [String: String]) -> String {
        let links = ["SUPPORT", "PRIVACY", "TERMS"].compactMap { name in
            text[name + "_URL"].map { url in
                // A mail program makes a link of the address itself.
                let shown = url.lowercased().hasPrefix("mailto:") ? String(url.dropFirst("mailto:".count)) : url
                return "\(text[name + "_LABEL"] ?? name): \(shown)"
            }
        }
        return ([text["FOOTER"]].compactMap(\.self) + links).map { $0 + "\n" }.joined()
    }

    /// The first language that fits by lookup (RFC 4647 §3.4), else any region of the same language, because a reader
    /// of Chinese reads any Chinese more easily than English.
    ///
    /// `type`: a mail; English if the operator has not translated an optional one.
    package func language(for wanted: [String], of type: String) -> String {
        let language = language(for: wanted)
        return optional[type].map { $0.contains(language) } ?? true ? language : Self.languageByDefault
    }

    func language(for wanted: [String]) -> String {
        for tag in wanted {
            var range = tag.split(separator: "-").map { $0.lowercased() }
            let primary = range.first
            while !range.isEmpty {
                let tag = range.joined(separator: "-")
                if let found = languages.first(where: { $0.lowercased() == tag }) { return found }
                range.removeLast()
                if range.last?.count == 1 { range.removeLast() }
            }
            let sibling = languages.first { $0.split(separator: "-").first?.lowercased() == primary }
            if let sibling { return sibling }
        }
        return Self.languageByDefault
    }

    private static func parse(_ name: String) -> (type: String, language: String, part: String)? {
        let pieces = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard pieces.count == 3, types.contains(pieces[0]), ["txt", "html"].contains(pieces[2]),
            pieces[1].wholeMatch(of: /[a-z]{2,3}(-[A-Za-z0-9]{2,8})*/) != nil
        else { return nil }
        return (pieces[0], pieces[1], pieces[2])
    }

    private static func add(_ name: String, _ text: String, to library: inout MustacheLibrary) throws(Mistake) {
        if name == layoutName {
            try register(text, named: "layout", of: name, in: &library)
            return
        }
        guard let (type, language, part) = parse(name) else {
            throw Mistake(
                file: name,
                problem: "is not a template: use TYPE.LANGUAGE.txt, TYPE.LANGUAGE.html or layout.html"
            )
        }
        for needed in namesNeeded(type) where !text.contains("{{\(needed)}}") {
            throw Mistake(file: name, problem: "lacks {{\(needed)}}")
        }
        guard part == "txt" else {
            try register(text, named: name, of: name, in: &library)
            return
        }
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0].hasPrefix("Subject: "), lines[1].isEmpty else {
            throw Mistake(file: name, problem: "must begin with a line \"Subject: …\" and an empty line")
        }
        let subject = lines[0].dropFirst("Subject: ".count)
        try register(String(subject), named: "\(type).\(language).subject", of: name, in: &library)
        try register(String(lines[2]), named: name, of: name, in: &library)
    }

    private static func register(
        _ text: String,
        named name: String,
        of file: String,
        in library: inout MustacheLibrary
    ) throws(Mistake) {
        for tag in text.matches(of: /\{\{\{?\s*([#^\/&<>$!%=*]?)\s*([^{}]*?)\s*\}\}/) {
            let (kind, name) = (String(tag.1), String(tag.2))
            let isAllowed =
                switch kind {
                case "", "#", "^", "&": names.contains(name)
                case "<", ">": name == "layout"
                // The end of a section, a block, and a comment.
                case "/", "$", "!": true
                default: false
                }
            guard isAllowed else {
                throw Mistake(file: file, problem: "contains {{\(kind)\(name)}}, which is unknown")
            }
        }
        do {
            // Values are escaped before rendering. The library escapes by characters, so it would not escape a
            // quotation mark with a combining accent.
            try library.register("{{% CONTENT_TYPE:TEXT}}" + text, named: name)
        } catch {
            throw Mistake(file: file, problem: "is not well-formed Mustache: close every tag and section")
        }
    }
}

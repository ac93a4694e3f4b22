package import JSON

/// A validated change of the project configuration. It applies to the settings stored at that time, so that concurrent
/// changes of different fields both survive.
package struct ProjectConfigChange: Sendable, Hashable {
    /// New values of the named fields; `nil` for the default.
    private let values: [ProjectConfigField: JSONValue?]

    /// The mistakes in a request; never empty.
    package struct Mistakes: Error, Sendable, Hashable {
        package let all: [ProjectConfigMistake]
    }

    /// Parses the fields of `body` that `mask` names.
    ///
    /// - Parameters:
    ///   - body: an object in the wire's shape. Undeclared members are ignored.
    ///   - mask: paths separated by commas, camelCase or snake_case. A path includes everything below it. An empty or
    ///     absent mask names every field: fields that the body omits return to their defaults.
    /// - Throws: every mistake of the mask and the body at once.
    package init(body: JSONValue, mask: String?) throws(Mistakes) {
        var mistakes: [ProjectConfigMistake] = []
        var values: [ProjectConfigField: JSONValue?] = [:]
        for field in Self.fields(named: mask, &mistakes) {
            let sent = Self.value(at: field.path[...], of: body, within: "", &mistakes)
            values[field] = .some(sent.flatMap { field.type.read($0, at: field.name, &mistakes) })
        }
        Self.checkRegions(body, &values, &mistakes)
        Self.checkPasswordLengths(values, &mistakes)
        // A wrong object in the middle of a path is found once for each field below it.
        var seen: Set<ProjectConfigMistake> = []
        let distinct = mistakes.filter { seen.insert($0).inserted }
        guard distinct.isEmpty else { throw Mistakes(all: distinct) }
        self.values = values
    }

    /// One field and its validated value; `nil` for the default.
    init(field: ProjectConfigField, value: JSONValue?) {
        values = [field: value]
    }

    private init(values: [ProjectConfigField: JSONValue?]) {
        self.values = values
    }

    private static func fields(named mask: String?, _ mistakes: inout [ProjectConfigMistake]) -> [ProjectConfigField] {
        guard let mask, !mask.isEmpty else { return ProjectConfigField.all }
        var named: Set<ProjectConfigField> = []
        for part in mask.split(separator: ",", omittingEmptySubsequences: false) {
            // An empty part names no field: otherwise an empty path would name all of them.
            let path = part.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            let fields = ProjectConfigField.all.filter { field in
                path.count <= field.path.count && zip(path, field.path).allSatisfy { $0 == $1 || $0 == $1.snakeCase }
            }
            let isShownOnly = ProjectConfigField.shownOnly.contains { shown in
                let names = shown.split(separator: ".").map(String.init)
                return names.count <= path.count && zip(names, path).allSatisfy { $0 == $1 || $0.snakeCase == $1 }
            }
            if fields.isEmpty, !isShownOnly {
                mistakes.append(.invalid("updateMask: there is no field \(part.prefix(128))"))
            }
            named.formUnion(fields)
        }
        return ProjectConfigField.all.filter(named.contains)
    }

    /// The value at `path`; `nil` if it was not sent.
    private static func value(
        at path: ArraySlice<String>,
        of value: JSONValue,
        within parent: String,
        _ mistakes: inout [ProjectConfigMistake]
    ) -> JSONValue? {
        guard let name = path.first else { return value }
        guard value.object != nil else {
            mistakes.append(.invalid("\(parent) must be an object"))
            return nil
        }
        guard let member = value.declared(name) else { return nil }
        let here = parent.isEmpty ? name : "\(parent).\(name)"
        return Self.value(at: path.dropFirst(), of: member, within: here, &mistakes)
    }

    // MARK: Rules between fields

    private static let allowed = "smsRegionConfig.allowlistOnly"
    private static let disallowed = "smsRegionConfig.allowByDefault"

    /// The two region rules exclude each other. Sending one clears the other; sending both is a mistake. An empty
    /// `allowlistOnly` is a list of no regions, not an absent list.
    private static func checkRegions(
        _ body: JSONValue,
        _ values: inout [ProjectConfigField: JSONValue?],
        _ mistakes: inout [ProjectConfigMistake]
    ) {
        let rules = ProjectConfigField.all.filter { $0.path[0] == "smsRegionConfig" }
        let sent = rules.filter { field in
            values.keys.contains(field) && body.declared(field.path[0])?.declared(field.path[1]) != nil
        }
        if sent.count > 1 { mistakes.append(.invalid("\(disallowed) and \(allowed) exclude each other")) }
        guard sent.count == 1 else { return }
        for field in rules {
            values[field] = sent.contains(field) ? .some(values[field]?.flatMap(\.self) ?? .array([])) : .some(nil)
        }
    }

    private static func checkPasswordLengths(
        _ values: [ProjectConfigField: JSONValue?],
        _ mistakes: inout [ProjectConfigMistake]
    ) {
        for (field, value) in values where field.name == "passwordPolicyConfig.passwordPolicyVersions" {
            let options = value?.array?.first?["customStrengthOptions"]
            guard let lengthMin = options?["minPasswordLength"]?.integer,
                let lengthMax = options?["maxPasswordLength"]?.integer, lengthMin > lengthMax
            else { continue }
            mistakes.append(.invalid("\(field.name): minPasswordLength is greater than maxPasswordLength"))
        }
    }

    // MARK: Applying and showing

    /// Returns `stored` with this change. A value that equals the preset's is not stored, so that it follows later
    /// changes of the preset.
    package func applied(to stored: JSONValue) -> JSONValue {
        let settings = values.reduce(stored) { $0.setting($1.value, at: $1.key.path[...]) }
        let unset = values.keys.filter { $0.followsPreset && stored[$0.path] == nil }
        return unset.reduce(settings) { settings, field in
            let isDefault = settings[field.path] == field.byDefault(in: settings)
            return isDefault ? settings.setting(nil, at: field.path[...]) : settings
        }
    }

    /// The same change, with the default for `fields`.
    func resetting(_ fields: some Sequence<ProjectConfigField>) -> Self {
        ProjectConfigChange(values: fields.reduce(into: values) { $0[$1] = .some(nil) })
    }

    /// Returns true if every value of the change is in force in `stored`, set or by default.
    package func isInForce(in stored: JSONValue) -> Bool {
        values.allSatisfy { field, value in field.value(in: stored) == (value ?? field.byDefault(in: stored)) }
    }

    /// Every writable field of `stored`, or its default.
    package static func shown(_ stored: JSONValue) -> JSONValue {
        ProjectConfigField.all.reduce(.object([:])) { shown, field in
            guard let value = field.value(in: stored) else { return shown }
            return shown.setting(value, at: field.path[...])
        }
    }
}

extension JSONValue {
    /// The value at `path`; `nil` if there is none.
    package subscript(path: [String]) -> JSONValue? {
        path.reduce(.some(self)) { value, name in value?[name] }
    }

    /// This value, completed with the members of `defaults` that it lacks, also inside its objects. Lists are not
    /// merged.
    package func completed(by defaults: JSONValue) -> JSONValue {
        guard let members = object, let others = defaults.object else { return self }
        return .object(members.merging(others) { $0.completed(by: $1) })
    }

    /// This object with the value at `path` replaced, or removed if it is `nil`. Creates missing objects on the path
    /// and removes empty ones.
    package func setting(_ value: JSONValue?, at path: ArraySlice<String>) -> JSONValue {
        guard let name = path.first else { return value ?? .object([:]) }
        var members = object ?? [:]
        if path.count == 1 {
            members[name] = value
        } else {
            let inner = (members[name] ?? .object([:])).setting(value, at: path.dropFirst())
            members[name] = inner == .object([:]) ? nil : inner
        }
        return .object(members)
    }
}

import AccountOperations
import HTTPTypes
import JSON

extension Route {
    private static let emulatorConfigPath = "/emulator/v1/projects/{project}/config"

    /// The two settings that emulator test suites switch. Development only.
    static let emulatorConfig = Route(.get, emulatorConfigPath, access: .anyone) { request in
        emulatorConfig(try await request.operations.projectConfig())
    }

    /// Changes the settings that the body contains, and no others.
    static let changeEmulatorConfig = Route(.patch, emulatorConfigPath, access: .anyone) { request in
        let sent = emulatorFields.filter { request.body.json[$0] != nil }
        guard !sent.isEmpty else { return emulatorConfig(try await request.operations.projectConfig()) }
        let mask = sent.map { $0.joined(separator: ".") }.joined(separator: ",")
        return emulatorConfig(try await changeProjectConfig(request, mask: mask))
    }

    private static let emulatorFields = [
        ["signIn", "allowDuplicateEmails"], ["emailPrivacyConfig", "enableImprovedEmailPrivacy"],
    ]

    private static func emulatorConfig(_ stored: JSONValue) -> APIResponse {
        let shown = ProjectConfigChange.shown(stored)
        let config = emulatorFields.reduce(JSONValue.object([:])) { $0.setting(shown[$1], at: $1[...]) }
        return APIResponse(json: Array(config.text.utf8))
    }
}

import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// Reading and changing the project's configuration, under both of its documented paths.
    static let projectConfig: [Route] = ["/v2", "/admin/v2"].flatMap { version in
        let path = version + "/projects/{project}/config"
        return [
            Route(.get, path, access: .administrator) { request in
                config(try await request.operations.projectConfig(), request)
            },
            Route(.patch, path, access: .administrator) { request in
                config(try await changeProjectConfig(request, mask: request.query["updateMask"]), request)
            },
        ]
    }

    /// Applies the fields of the body that `mask` names, or all fields if it names none.
    static func changeProjectConfig(_ request: APIRequest, mask: String?) async throws -> JSONValue {
        let change: ProjectConfigChange
        do {
            change = try ProjectConfigChange(body: request.body.json, mask: mask)
        } catch {
            throw error.apiError
        }
        let administrator = request.administrator ?? .emulator
        switch try await request.operations.updateProjectConfig(change, by: administrator) {
        case .success(let settings): return settings
        case .failure(.versionMismatch):
            throw APIError.invalidArgument("The configuration has changed since it was read")
        case .failure(.imageMissing(let digest)):
            throw APIError.invalidArgument("concord.branding: no image \(digest) is stored")
        case .failure(.testPhoneNumberInUse(let number)):
            throw APIError.code(
                .invalidTestingPhoneNumber,
                "signIn.phoneNumber.testPhoneNumbers: an account owns \(number.rawValue)"
            )
        }
    }

    /// The stored settings, the defaults of the others, and the fixed properties of the project.
    private static func config(_ stored: JSONValue, _ request: APIRequest) -> APIResponse {
        let projectID = request.operations.project.settings.projectID
        let settings = ProjectConfigChange.shown(stored)
        let shown =
            settings
            .setting(.string("projects/\(projectID)/config"), at: ["name"])
            .setting(.string("IDENTITY_PLATFORM"), at: ["subtype"])
            .setting(request.operations.project.apiKey.map(JSONValue.string), at: ["client", "apiKey"])
            .setting(.string(projectID), at: ["client", "firebaseSubdomain"])
        return APIResponse(json: Array(shown.text.utf8))
    }
}

extension ProjectConfigChange.Mistakes {
    /// Admin SDKs parse the code for fictional numbers, so it is sent if it is the only mistake.
    var apiError: APIError {
        var invalid: [String] = []
        var numbers: [String] = []
        var unavailable: [String] = []
        for mistake in all {
            switch mistake {
            case .invalid(let text): invalid.append(text)
            case .testPhoneNumber(let text): numbers.append(text)
            case .unavailable(let field): unavailable.append(field)
            }
        }
        if invalid.isEmpty, numbers.isEmpty { return .unimplemented(unavailable.joined(separator: ", ")) }
        if invalid.isEmpty, unavailable.isEmpty {
            return .code(.invalidTestingPhoneNumber, numbers.joined(separator: "; "))
        }
        return .invalidArgument(
            (invalid + numbers + unavailable.map { "\($0) is not implemented" }).joined(separator: "; ")
        )
    }
}

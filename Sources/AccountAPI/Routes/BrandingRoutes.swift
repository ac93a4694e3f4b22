import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `PUT` and `DELETE /concord/v1/branding/{logo}`: stores or removes the project's logo, or its logo of dark mode. The
    /// other settings of branding are fields of the project's configuration.
    static let branding: [Route] = [
        Route(.put, logoPath, access: .administrator) { request in
            let place = try logoPlace(request)
            guard let text = try request.body.nonEmptyString("image") else {
                throw Problem(.malformedRequest, "`image` is missing.")
            }
            guard let bytes = Base64URL.decodeEitherAlphabet(text) else {
                throw Problem(.malformedRequest, "`image` must be Base64.")
            }
            let logo: LogoImage
            do throws(LogoImage.Refusal) {
                logo = try LogoImage(bytes)
            } catch {
                throw Problem(.malformedRequest, "The logo \(error.text).")
            }
            let version = try await replaceLogo(place, with: logo, request)
            return .object(version: version) { writer in
                writer.field("version", version)
                writer.field("sha256", logo.digest)
                writer.field("contentType", logo.format.rawValue)
                writer.field("width", Int64(logo.width))
                writer.field("height", Int64(logo.height))
            }
        },
        Route(.delete, logoPath, access: .administrator) { request in
            let version = try await replaceLogo(try logoPlace(request), with: nil, request)
            return .object(version: version) { writer in writer.field("version", version) }
        },
    ]

    private static let logoPath = "/concord/v1/branding/{logo}"

    private static func logoPlace(_ request: APIRequest) throws(Problem) -> LogoPlace {
        guard let place = request.captures["logo"].flatMap(LogoPlace.init) else {
            throw Problem(.noSuchRoute, "Use `logo` or `logoDark`.")
        }
        return place
    }

    /// - Returns: the version of the settings in force.
    private static func replaceLogo(
        _ place: LogoPlace,
        with logo: LogoImage?,
        _ request: APIRequest
    ) async throws -> Int64 {
        let outcome = try await request.operations.replaceLogo(
            place,
            with: logo,
            by: request.administrator ?? .emulator,
            expectedVersion: try request.expectedVersion.version()
        )
        switch outcome {
        case .success(let version): return version
        case .failure(.versionMismatch): throw Problem(.versionMismatch)
        // The change brings its image and names no number.
        case .failure(.imageMissing), .failure(.testPhoneNumberInUse): throw Problem(.internalError)
        }
    }
}

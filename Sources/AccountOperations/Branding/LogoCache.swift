import AccountStore
package import Postgres
import Synchronization

/// A logo as pages and mails load it.
package struct ServedLogo: Sendable, Hashable {
    package let format: LogoImage.Format
    package let bytes: [UInt8]
    /// SHA-256 of the bytes, in lower-case hexadecimal digits.
    package let digest: String
}

/// The logos in use, read once. An image never changes, so an entry is never out of date.
final class LogoCache: Sendable {
    /// More than the logos of one version: servers change versions at different moments.
    private static let logosMax = 8

    private let logos = Mutex<[String: ServedLogo]>([:])

    /// The logo of a digest; `nil` if it is not stored.
    func logo(_ digest: String, from store: AccountStore) async throws(PostgresError) -> ServedLogo? {
        if let logo = logos.withLock({ $0[digest] }) { return logo }
        guard let image = try await store.projectImage(digest),
            let format = LogoImage.Format(rawValue: image.contentType)
        else { return nil }
        let logo = ServedLogo(format: format, bytes: image.content, digest: image.digest)
        logos.withLock { logos in
            if logos.count >= Self.logosMax { logos.removeAll() }
            logos[digest] = logo
        }
        return logo
    }
}

extension AccountOperations {
    /// The project's logo at a place, or the one of the other place; `nil` if there is none.
    package func logo(_ place: LogoPlace) async throws(PostgresError) -> ServedLogo? {
        guard let digest = project.settings.branding.logo(place) else { return nil }
        return try await logos.logo(digest, from: store)
    }
}

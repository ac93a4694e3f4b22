import AccountLinking
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
///
/// A missing image is read again after `absenceSeconds`, so that requests of strangers do not reach the database.
final class LogoCache: Sendable {
    /// More than the logos of one version: servers change versions at different moments.
    private static let logosMax = 8
    /// Time after which a missing image is read again, because another server may have stored it.
    static let absenceSeconds: Int64 = 5

    private enum Entry {
        case found(ServedLogo)
        case missing(since: Timestamp)
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// The logo of a digest; `nil` if it is not stored.
    func logo(
        _ digest: String,
        from store: AccountStore,
        at now: Timestamp
    ) async throws(PostgresError) -> ServedLogo? {
        switch entries.withLock({ $0[digest] }) {
        case .found(let logo): return logo
        // A clock that was set back does not make the absence longer.
        case .missing(let since) where since <= now && now < since.adding(seconds: Self.absenceSeconds): return nil
        case .missing, nil: break
        }
        guard let image = try await store.projectImage(digest),
            let format = LogoImage.Format(rawValue: image.contentType)
        else {
            keep(.missing(since: now), for: digest)
            return nil
        }
        let logo = ServedLogo(format: format, bytes: image.content, digest: image.digest)
        keep(.found(logo), for: digest)
        return logo
    }

    /// Forgets that the image was missing, because it was stored.
    func forgetAbsence(of digest: String) {
        entries.withLock { entries in
            if case .missing = entries[digest] { entries[digest] = nil }
        }
    }

    private func keep(_ entry: Entry, for digest: String) {
        entries.withLock { entries in
            if entries.count >= Self.logosMax { entries.removeAll() }
            entries[digest] = entry
        }
    }
}

extension AccountOperations {
    /// The project's logo at a place, or the one of the other place; `nil` if there is none.
    package func logo(_ place: LogoPlace) async throws(PostgresError) -> ServedLogo? {
        guard let digest = project.settings.branding.logo(place) else { return nil }
        return try await logos.logo(digest, from: store, at: effects.now())
    }
}

import AccountLinking
import JSON

/// The standard claims about a user that Concord stores (OpenID Connect Core 1.0 §5.1).
///
/// The lengths are those of the account fields. A longer name is cut off. A longer identifier and an invalid e-mail
/// address count as absent.
struct StandardClaims: Sendable {
    let claims: JSONValue

    var email: EmailAssertion { email(hostedDomain: nil) }

    func email(hostedDomain: String?) -> EmailAssertion {
        guard let address = claims["email"]?.string.flatMap({ EmailAddress($0) }) else { return .absent }
        return .present(address, flag: verifiedFlag, hostedDomain: hostedDomain)
    }

    /// `email_verified`, or the older `verified_email`, as Boolean or text (Apple). Any other value counts as false,
    /// and so do two claims that differ.
    private var verifiedFlag: VerifiedFlag {
        let flags = ["email_verified", "verified_email"].compactMap { claims[$0] }
        guard !flags.isEmpty else { return .absent }
        return VerifiedFlag(flags.allSatisfy(IDTokenRequirements.isTrue))
    }

    var firstName: String? { text("given_name") }
    var lastName: String? { text("family_name") }

    var fullName: String? { text("name") ?? Self.joined(firstName, lastName) }

    var profile: Profile {
        Profile(
            displayName: fullName,
            photoURL: photoURL,
            screenName: text("screen_name") ?? text("preferred_username") ?? text("nickname"),
            language: identifier("locale"),
            timeZone: identifier("zoneinfo"),
            dateOfBirth: identifier("birthdate")
        )
    }

    private var photoURL: String? {
        guard let url = claims["picture"]?.string, url.utf8.count <= Profile.photoURLLengthMax else { return nil }
        return Profile.isPhotoURL(url) ? url : nil
    }

    /// A language tag, time zone or date; `nil` if it is too long, because a cut-off value would be another one.
    private func identifier(_ name: String) -> String? {
        guard let text = claims[name]?.string.nonEmpty, text.unicodeScalars.count <= Self.identifierLengthMax else {
            return nil
        }
        return text
    }

    /// The length in Unicode scalars, as PostgreSQL counts.
    private static let identifierLengthMax = 64

    private func text(_ name: String) -> String? { Self.bounded(claims[name]?.string) }

    static func bounded(_ text: String?) -> String? {
        text.map { String(String.UnicodeScalarView($0.unicodeScalars.prefix(Profile.displayNameLengthMax))) }.nonEmpty
    }

    static func joined(_ first: String?, _ last: String?) -> String? {
        bounded([first, last].compactMap { $0 }.joined(separator: " "))
    }
}

import AccountLinking
import JSON

/// The claims about a user (OpenID Connect Core 1.0 §5.1), as far as they have a place here.
///
/// Lengths are those of the account fields: a name that is longer is cut, and an identifier that is
/// longer, or an e-mail address that is none, counts as absent.
struct StandardClaims: Sendable {
    let claims: JSONValue

    var email: EmailAssertion { email(hostedDomain: nil) }

    func email(hostedDomain: String?) -> EmailAssertion {
        guard let address = claims["email"]?.string.flatMap({ EmailAddress($0) }) else { return .absent }
        return .present(address, flag: verifiedFlag, hostedDomain: hostedDomain)
    }

    /// `email_verified`, or the older `verified_email`. Apple sends strings. Anything that is neither true nor false, and
    /// a second claim that disagrees, counts as false.
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

    /// A language tag, time zone or date: cut off, it would be another one.
    private func identifier(_ name: String) -> String? {
        guard let text = claims[name]?.string.nonEmpty, text.unicodeScalars.count <= Self.identifierLengthMax else {
            return nil
        }
        return text
    }

    /// Unicode scalars, as the database counts.
    private static let identifierLengthMax = 64

    private func text(_ name: String) -> String? { Self.bounded(claims[name]?.string) }

    static func bounded(_ text: String?) -> String? {
        text.map { String(String.UnicodeScalarView($0.unicodeScalars.prefix(Profile.displayNameLengthMax))) }.nonEmpty
    }

    static func joined(_ first: String?, _ last: String?) -> String? {
        bounded([first, last].compactMap { $0 }.joined(separator: " "))
    }
}

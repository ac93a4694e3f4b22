import AccountLinking
import JSON

/// The rules for claims that an administrator or a developer sets.
package enum CustomClaims {
    /// Characters of the serialised object.
    package static let lengthMax = 1000

    /// Why a text cannot be the custom claims of an account, in the order the reasons are looked for.
    package enum Defect: Sendable, Hashable {
        case tooLarge
        case notAnObject
        case reservedName(name: String)

        var denial: Denial {
            switch self {
            case .tooLarge: .claimsTooLarge
            case .notAnObject: .invalidClaims
            case .reservedName(let name): .forbiddenClaim(name)
            }
        }
    }

    /// What is wrong with `text` as the `customAttributes` of an account; `nil` when nothing is. The empty text means no
    /// claims.
    package static func defect(of text: String) -> Defect? {
        guard text.unicodeScalars.count <= lengthMax else { return .tooLarge }
        guard !text.isEmpty else { return nil }
        guard let value = try? JSONValue(parsing: Array(text.utf8)), let claims = value.object else {
            return .notAnObject
        }
        return defect(of: claims)
    }

    /// What is wrong with the names of `claims`; `nil` when nothing is.
    static func defect(of claims: [String: JSONValue]) -> Defect? {
        let forbidden = claims.keys.filter(IDTokenClaims.forbiddenNames.contains).sorted()
        return forbidden.first.map { .reservedName(name: $0) }
    }

    /// The text to store: `nil` if there never were claims, `UserRecord.noClaims` if they were cleared. Production answers the two
    /// differently.
    static func stored(_ text: String) -> String? {
        guard !text.isEmpty else { return nil }
        let hasClaims = (try? JSONValue(parsing: Array(text.utf8)))?.object?.isEmpty == false
        return hasClaims ? text : UserRecord.noClaims
    }
}

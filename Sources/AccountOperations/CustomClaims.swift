import AccountLinking
import JSON

/// Rules for claims that an administrator or a developer sets.
package enum CustomClaims {
    /// Limit of the serialised object, in Unicode scalars.
    package static let lengthMax = 1000

    /// Reasons to reject a text as custom claims, in the order of the checks.
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

    /// Returns the defect of `text` as `customAttributes` of an account; `nil` if it is valid. Empty text means no
    /// claims.
    package static func defect(of text: String) -> Defect? {
        guard text.unicodeScalars.count <= lengthMax else { return .tooLarge }
        guard !text.isEmpty else { return nil }
        guard let value = try? JSONValue(parsing: Array(text.utf8)), let claims = value.object else {
            return .notAnObject
        }
        return defect(of: claims)
    }

    /// Returns the defect of the names of `claims`; `nil` if they are valid.
    static func defect(of claims: [String: JSONValue]) -> Defect? {
        let forbidden = claims.keys.filter(IDTokenClaims.forbiddenNames.contains).sorted()
        return forbidden.first.map { .reservedName(name: $0) }
    }

    /// The text to store: `nil` if no claims were ever set, `UserRecord.noClaims` if they were cleared. Identity
    /// Toolkit answers differently in the two cases.
    static func stored(_ text: String) -> String? {
        guard !text.isEmpty else { return nil }
        let hasClaims = (try? JSONValue(parsing: Array(text.utf8)))?.object?.isEmpty == false
        return hasClaims ? text : UserRecord.noClaims
    }
}

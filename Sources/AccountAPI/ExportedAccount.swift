package import AccountLinking
import AccountOperations
import JSON

/// An account as a file of an export has it.
package enum ExportedAccount {
    /// In place of a hash that is not shown; no import takes it for one.
    package static let redacted = redactedPasswordHash

    /// The text in base64: what an import under the name `PHC` takes.
    package static func passwordHash(_ hash: String) -> String {
        let text = Base64URL.encodeStandardAlphabet(Array(hash.utf8))
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    /// Everything, as `accounts:batchGet` has it.
    package static func everything(_ user: UserRecord, passwordHash: String?) -> [UInt8] {
        var writer = JSONWriter()
        writer.user(user, passwordHash: passwordHash ?? redactedPasswordHash)
        return writer.bytes
    }

    /// What the Firebase CLI writes, and no more: it refuses files with other keys.
    package static func json(_ user: UserRecord, passwordHash: String?) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("localId", user.id.rawValue)
            writer.field("email", user.email?.address.lowercased)
            writer.field("emailVerified", user.email?.isVerified ?? false)
            writer.field("passwordHash", passwordHash)
            writer.field("displayName", user.profile.displayName)
            writer.field("photoUrl", user.profile.photoURL)
            writer.field("lastSignedInAt", decimalString: user.lastLoginAt?.millisecondsSinceEpoch)
            writer.field("createdAt", decimalString: user.createdAt.millisecondsSinceEpoch)
            writer.field("phoneNumber", user.phoneNumber?.rawValue)
            writer.field("disabled", user.isDisabled)
            writer.field("customAttributes", user.customAttributes)
            if !user.secondFactors.isEmpty {
                writer.name("mfaInfo")
                writer.secondFactors(user.secondFactors)
            }
            let linked = user.linkedProviders.sorted { $0.key < $1.key }
            writer.field("providerUserInfo", array: linked) { writer, linked in
                writer.object { writer in
                    writer.field("providerId", linked.key.rawValue)
                    writer.field("rawId", linked.value.identity.subject)
                    writer.field("email", linked.value.email?.lowercased)
                    writer.field("displayName", linked.value.displayName)
                    writer.field("photoUrl", linked.value.photoURL)
                }
            }
        }
    }
}

package import AccountLinking
package import JSON

/// An account in an export file.
package enum ExportedAccount {
    /// The text that replaces a hash which is not shown. No import accepts it as a hash.
    package static let redacted = redactedPasswordHash

    /// The text in base64, the form that an import of `PHC` hashes accepts.
    package static func passwordHash(_ hash: String) -> String {
        Base64URL.encodePadded(Array(hash.utf8))
    }

    /// Writes all fields, as `accounts:batchGet` does.
    package static func everything(
        _ account: ShownAccount,
        passwordHash: String?,
        to writer: inout JSONWriter
    ) {
        writer.user(account, passwordHash: passwordHash ?? redactedPasswordHash, showsNumbers: true)
    }

    /// Writes only the fields that the Firebase CLI writes, because it refuses files with other keys.
    package static func json(
        _ account: ShownAccount,
        passwordHash: String?,
        to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.field("localId", account.id)
            writer.field("email", account.email?.address)
            writer.field("emailVerified", account.email?.isVerified ?? false)
            writer.field("passwordHash", passwordHash)
            writer.field("displayName", account.profile.displayName)
            writer.field("photoUrl", account.profile.photoURL)
            writer.field("lastSignedInAt", decimalString: account.lastLoginAt?.millisecondsSinceEpoch)
            writer.field("createdAt", decimalString: account.createdAt.millisecondsSinceEpoch)
            writer.field("phoneNumber", account.phoneNumber)
            writer.field("disabled", account.isDisabled)
            writer.field("customAttributes", account.customAttributes)
            if !account.secondFactors.isEmpty {
                writer.name("mfaInfo")
                writer.secondFactors(account.secondFactors, numbers: .once)
            }
            writer.field("providerUserInfo", objects: account.providers) { writer, linked in
                writer.field("providerId", linked.id)
                writer.field("rawId", linked.subject)
                writer.field("email", linked.email)
                writer.field("displayName", linked.displayName)
                writer.field("photoUrl", linked.photoURL)
            }
        }
    }
}

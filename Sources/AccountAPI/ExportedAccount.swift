package import AccountLinking
import AccountOperations
package import JSON

/// An account in an export file.
package enum ExportedAccount {
    /// The text that replaces a hash which is not shown. No import accepts it as a hash.
    package static let redacted = redactedPasswordHash

    /// The text in base64, the form that an import of `PHC` hashes accepts.
    package static func passwordHash(_ hash: String) -> String {
        var hash = hash
        return hash.withUTF8 { Base64URL.encodePadded(UnsafeRawBufferPointer($0)) }
    }

    /// The same for borrowed text.
    package static func passwordHash(_ hash: BorrowedText) -> String {
        Base64URL.encodePadded(hash.bytes)
    }

    /// Writes all fields, as `accounts:batchGet` does.
    package static func everything(
        _ account: ShownAccount<BorrowedText>,
        passwordHash: String?,
        to writer: inout JSONWriter
    ) {
        writer.user(account, passwordHash: passwordHash ?? redactedPasswordHash, showsNumbers: true)
    }

    /// Writes only the fields that the Firebase CLI writes, because it refuses files with other keys.
    package static func json(
        _ account: ShownAccount<BorrowedText>,
        passwordHash: String?,
        to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.field("localId", text: account.id)
            writer.field("email", account.email?.address)
            writer.field("emailVerified", account.email?.isVerified ?? false)
            writer.field("passwordHash", passwordHash)
            writer.field("displayName", text: account.displayName)
            writer.field("photoUrl", text: account.photoURL)
            writer.field("lastSignedInAt", decimalString: account.lastLoginAt?.millisecondsSinceEpoch)
            writer.field("createdAt", decimalString: account.createdAt.millisecondsSinceEpoch)
            writer.field("phoneNumber", text: account.phoneNumber)
            writer.field("disabled", account.isDisabled)
            writer.field("customAttributes", text: account.customAttributes)
            if !account.secondFactors.isEmpty {
                writer.name("mfaInfo")
                writer.secondFactors(account.secondFactors, numbers: .once)
            }
            writer.name("providerUserInfo")
            writer.array { writer in
                for linked in account.providers {
                    writer.object { writer in
                        writer.field("providerId", text: linked.id)
                        writer.field("rawId", text: linked.subject)
                        writer.field("email", linked.email)
                        writer.field("displayName", text: linked.displayName)
                        writer.field("photoUrl", text: linked.photoURL)
                    }
                }
            }
        }
    }
}

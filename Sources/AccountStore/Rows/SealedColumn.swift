import Postgres

/// A column of sealed values. Every column of the schema whose name begins with `sealed_` or contains `_sealed_` is
/// here, and the images of such columns that an undo restores.
package enum SealedColumn: String, Sendable, Hashable, CaseIterable {
    case signingKey = "signing_keys.sealed_private_key"
    case hashKey = "hash_keys.sealed_key"
    case clientSecret = "provider_configs.sealed_client_secret"
    case appleKey = "provider_configs.sealed_apple_key"
    case webhookSecret = "webhook_endpoints.sealed_secret"
    case olderWebhookSecret = "webhook_endpoints.sealed_older_secret"
    case totpSecret = "second_factors.sealed_secret"
    case pendingCredential = "conflicts.sealed_credential"
    case proofCode = "conflicts.proof_sealed_code"
    case factorChallenge = "factor_challenges.sealed_content"
    case storedAnswer = "kept_answers.sealed_answer"
    case message = "outbox.sealed_payload"
    case phoneCode = "phone_verifications.sealed_code"
    case providerFlow = "provider_flows.sealed_flow"
    case shortCode = "short_codes.sealed_code"
    case pendingSignUp = "pending_sign_ups.sealed_credential"
    case signUpCode = "pending_sign_ups.sealed_code"
    // The undo of an administrator's change restores second factors from these images.
    case journaledSecretBefore = "account_journal.before"
    case journaledSecretAfter = "account_journal.after"
    // The next one goes here.

    /// A column whose value is sent as text.
    struct Part: Sendable {
        enum Form: Sendable { case text, hexadecimal, uuid, integer }

        let name: SQL
        let form: Form

        init(_ name: SQL, _ form: Form = .text) {
            self.name = name
            self.form = form
        }

        /// The column of the row `t` as text.
        var asText: SQL {
            switch form {
            case .text: "t.\(name)"
            case .hexadecimal: "encode(t.\(name), 'hex')"
            case .uuid, .integer: "t.\(name)::text"
            }
        }

        /// The value that `text` stands for.
        func value(_ text: SQL) -> SQL {
            switch form {
            case .text: text
            case .hexadecimal: "decode(\(text), 'hex')"
            case .uuid: "\(text)::uuid"
            case .integer: "\(text)::integer"
            }
        }
    }

    var table: SQL {
        switch self {
        case .signingKey: "\(table: "signing_keys")"
        case .hashKey: "\(table: "hash_keys")"
        case .clientSecret, .appleKey: "\(table: "provider_configs")"
        case .webhookSecret, .olderWebhookSecret: "\(table: "webhook_endpoints")"
        case .totpSecret: "\(table: "second_factors")"
        case .pendingCredential, .proofCode: "\(table: "conflicts")"
        case .factorChallenge: "\(table: "factor_challenges")"
        case .storedAnswer: "\(table: "kept_answers")"
        case .message: "\(table: "outbox")"
        case .phoneCode: "\(table: "phone_verifications")"
        case .providerFlow: "\(table: "provider_flows")"
        case .shortCode: "\(table: "short_codes")"
        case .pendingSignUp, .signUpCode: "\(table: "pending_sign_ups")"
        case .journaledSecretBefore, .journaledSecretAfter: "\(table: "account_journal")"
        }
    }

    private var name: SQL {
        switch self {
        case .signingKey: "sealed_private_key"
        case .hashKey: "sealed_key"
        case .clientSecret: "sealed_client_secret"
        case .appleKey: "sealed_apple_key"
        case .webhookSecret, .totpSecret: "sealed_secret"
        case .olderWebhookSecret: "sealed_older_secret"
        case .pendingCredential, .pendingSignUp: "sealed_credential"
        case .proofCode: "proof_sealed_code"
        case .factorChallenge: "sealed_content"
        case .storedAnswer: "sealed_answer"
        case .message: "sealed_payload"
        case .phoneCode, .shortCode, .signUpCode: "sealed_code"
        case .providerFlow: "sealed_flow"
        case .journaledSecretBefore: "before"
        case .journaledSecretAfter: "after"
        }
    }

    private var isImage: Bool { self == .journaledSecretBefore || self == .journaledSecretAfter }

    /// The sealed value of the row `t`, or NULL.
    var value: SQL {
        isImage
            ? "CASE WHEN t.table_name = 'second_factors' THEN (t.\(name) ->> 'sealed_secret')::bytea END"
            : "t.\(name)"
    }

    /// The assignment of a row `t` that replaces its value by `sealed`.
    func assignment(_ sealed: SQL) -> SQL {
        isImage
            // `to_jsonb` is not immutable, so Citus refuses it here.
            ? """
            \(name) = jsonb_set(t.\(name), '{sealed_secret}', ('"\\\\x' || encode(\(sealed), 'hex') || '"')::jsonb)
            """
            : "\(name) = \(sealed)"
    }

    /// The primary key.
    var key: [Part] {
        switch self {
        case .signingKey: [Part("key_id")]
        case .hashKey: [Part("slot", .integer)]
        case .webhookSecret, .olderWebhookSecret: [Part("endpoint_id", .uuid)]
        case .clientSecret, .appleKey: [Part("tenant_id"), Part("provider_id")]
        case .totpSecret: [Part("tenant_id"), Part("user_id"), Part("enrollment_id")]
        case .pendingCredential, .proofCode:
            [Part("tenant_id"), Part("user_id"), Part("conflict_id", .hexadecimal)]
        case .factorChallenge: [Part("tenant_id"), Part("user_id"), Part("challenge_id", .hexadecimal)]
        case .storedAnswer: [Part("tenant_id"), Part("user_id"), Part("key_digest", .hexadecimal)]
        case .message: [Part("tenant_id"), Part("message_id", .uuid)]
        case .phoneCode: [Part("tenant_id"), Part("verification_id", .hexadecimal)]
        case .providerFlow: [Part("tenant_id"), Part("state_digest", .hexadecimal)]
        case .shortCode: [Part("tenant_id"), Part("kind"), Part("email_key")]
        case .pendingSignUp, .signUpCode: [Part("tenant_id"), Part("sign_up_digest", .hexadecimal)]
        case .journaledSecretBefore, .journaledSecretAfter:
            [
                Part("tenant_id"), Part("change_id", .uuid), Part("step", .integer), Part("table_name"),
                Part("row_key"),
            ]
        }
    }

    /// The other columns that the context of the value needs, as text.
    var parts: [SQL] {
        switch self {
        case .hashKey: ["t.key_id"]
        case .pendingCredential, .proofCode: ["encode(t.identity_digest, 'hex')"]
        case .journaledSecretBefore, .journaledSecretAfter:
            ["coalesce(t.\(name) ->> 'user_id', '')", "coalesce(t.\(name) ->> 'enrollment_id', '')"]
        default: []
        }
    }
}

/// A row with a sealed value.
package struct SealedRow: Sendable {
    /// The primary key, as text.
    package let key: [String]
    /// The other values that the context needs, as text. Bytes are in hexadecimal digits.
    package let parts: [String]
    /// `nil` if the row has no value, or the current key seals it.
    package let sealed: [UInt8]?
}

/// A sealed value, and the one that replaces it.
package struct ResealedValue: Sendable {
    package let key: [String]
    package let old: [UInt8]
    package let new: [UInt8]

    package init(key: [String], old: [UInt8], new: [UInt8]) {
        self.key = key
        self.old = old
        self.new = new
    }
}

/// Number of values in a column that begin with the same bytes, which name their key.
package struct SealedCount: Sendable, Hashable {
    package let column: SealedColumn
    /// Version, length of the key's id, and id; empty if the value is malformed.
    package let prefix: [UInt8]
    package let count: Int64
}

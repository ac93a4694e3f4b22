/// The place of every table on Citus, in the order in which `concord migrate distribute` moves them.
///
/// A request about one account must ask one shard. Two lines of tables make that possible: the accounts by `user_id`,
/// and the claims by `value`. A request finds the owner of a claim in the second line, then reads the account in the
/// first.
/// `DistributionTests` holds every statement against this list.
package enum Distribution {
    package static let tables: [DistributedTable] = [
        // A few rows, read by every server and joined by statements: a copy on each node.
        .reference("project_config"),
        .reference("project_config_versions"),
        .reference("project_images"),
        .reference("api_keys"),
        .reference("hash_keys"),
        .reference("provider_configs"),
        .reference("service_accounts"),
        .reference("signing_keys"),
        // A merge names two accounts, which are in two shards, and is unique for each.
        .reference("merges"),
        // Plans name many accounts. Administrators write them, requests do not.
        .reference("audit_plans"),
        .reference("audit_steps"),
        // One row for each kind of work.
        .reference("duties"),

        // The account. A row of each is found by its account alone, so they are all stored with `users`.
        .byKey("users", "user_id"),
        .byKey("password_credentials", "user_id", with: "users"),
        .byKey("linked_providers", "user_id", with: "users"),
        .byKey("sign_in_methods", "user_id", with: "users"),
        .byKey("second_factors", "user_id", with: "users"),
        .byKey("sessions", "user_id", with: "users"),
        .byKey("conflicts", "user_id", with: "users"),
        // Deleted with its conflict.
        .byKey("conflict_returns", "user_id", with: "users"),
        // The code names its account.
        .byKey("sign_in_returns", "user_id", with: "users"),
        .byKey("factor_challenges", "user_id", with: "users"),
        .byKey("proof_mails", "user_id", with: "users"),
        .byKey("quarantined_methods", "user_id", with: "users"),
        .byKey("used_id_tokens", "user_id", with: "users"),
        .byKey("sign_in_refusals", "user_id", with: "users"),
        .byKey("devices", "user_id", with: "users"),
        // Written in the transaction of the change that they record.
        .byKey("account_events", "user_id", with: "users"),
        // Anonymous callers have the account `''`: one shard stores all their answers.
        .byKey("kept_answers", "user_id", with: "users"),

        // A claim is found by its value, before its owner is known.
        .byKey("identifiers", "value"),

        // The caller of each brings a secret or an address, and its digest finds the row. No table joins them.
        .byKey("one_time_codes", "code_hash"),
        // Deleted with its code.
        .byKey("code_methods", "code_hash", with: "one_time_codes"),
        .byKey("message_counts", "count_digest", with: "one_time_codes"),
        .byKey("password_attempts", "address_digest", with: "one_time_codes"),
        // Read with the address's own row.
        .byKey("password_sources", "address_digest", with: "one_time_codes"),
        .byKey("provider_flows", "state_digest", with: "one_time_codes"),
        .byKey("pending_sign_ups", "sign_up_digest", with: "one_time_codes"),
        .byKey("short_codes", "email_key"),

        // The images of one change are written and read together. A reference table would deadlock: `INSERT … SELECT` locks
        // it weakly, and the `DELETE` at the end of the same transaction exclusively.
        .byKey("account_journal", "change_id"),

        // Queues: a sender takes the next messages in order, with FOR UPDATE SKIP LOCKED, which needs one shard.
        .oneShard("outbox"),
        // Unique by its id, and for the current one by its number too: no column is in both. Rows live for minutes.
        .oneShard("phone_verifications"),
        // The foreign key of the messages survives because each node has a copy of the endpoints.
        .reference("webhook_endpoints"),
        .oneShard("webhook_messages"),

        // The state of migrations belongs to the coordinator.
        .local("schema_migrations"),
    ]
}

/// A table and its place on Citus.
package struct DistributedTable: Sendable, Hashable {
    package enum Placement: Sendable, Hashable {
        /// Rows spread over the shards by the hash of this column. `with` another table: rows with the same value are on
        /// the same node as the other table's rows.
        case byKey(String, with: String?)
        /// A copy on every node.
        case reference
        /// All rows in one shard of one worker.
        case oneShard
        /// Only on the coordinator.
        case local
    }

    package var name: String
    package var placement: Placement

    package static func byKey(_ name: String, _ key: String, with other: String? = nil) -> DistributedTable {
        DistributedTable(name: name, placement: .byKey(key, with: other))
    }

    package static func reference(_ name: String) -> DistributedTable {
        DistributedTable(name: name, placement: .reference)
    }

    package static func oneShard(_ name: String) -> DistributedTable {
        DistributedTable(name: name, placement: .oneShard)
    }

    package static func local(_ name: String) -> DistributedTable {
        DistributedTable(name: name, placement: .local)
    }
}

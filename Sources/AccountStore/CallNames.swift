extension AccountStore {
    /// Names of database calls in metrics: the first table of a read, or the name of a write or transaction. A missing
    /// name counts as `PostgresMetrics.otherCall`.
    package static let callNames = [
        "account-delete", "account-import", "account-undo", "account-write", "activity", "address-take", "audit-plan",
        "audit-repair", "code-attempt",
        "code-exchange", "code-issue",
        "code-use",
        "conflict-change", "conflict-count", "conflict-open", "delete-all-users", "event", "factor-attempt",
        "factor-challenge", "factor-spend", "hash-key-add", "merge-abort", "merge-commit", "merge-prepare",
        "message-count", "outbox-claim", "outbox-enqueue",
        "outbox-discard", "outbox-finish", "outbox-release", "outbox-retry",
        "password-attempt", "phone-attempt", "phone-issue", "phone-use", "project-create", "project-settings",
        "provider-config-change", "provider-config-remove", "provider-configs-change",
        "provider-disable", "provider-flow", "purge", "purge-sessions", "read-account_events", "read-account_journal",
        "read-api_keys", "read-audit_plans", "read-audit_steps", "read-clock_timestamp",
        "read-code_methods", "read-conflicts", "read-factor_challenges", "read-hash_keys", "read-identifiers",
        "read-kept_answers",
        "read-linked_providers",
        "read-merges", "read-message_counts", "read-one_time_codes", "read-outbox", "read-password_attempts",
        "read-password_credentials", "read-phone_verifications", "read-project_config", "read-project_config_versions",
        "read-project_images",
        "read-proof_mails", "read-provider_configs", "read-provider_flows", "read-quarantined_methods",
        "read-second_factors",
        "read-service_accounts", "read-sessions", "read-short_codes", "read-sign_in_methods", "read-sign_in_refusals",
        "read-signing_keys",
        "read-used_id_tokens", "read-users", "read-webhook_endpoints", "read-webhook_messages", "reseal",
        "service-account-add",
        "service-account-remove", "signing-key-add", "webhook-claim", "webhook-endpoint", "webhook-finish",
        "write-probe",
    ]
}

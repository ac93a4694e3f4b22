CREATE TABLE public.account_events (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    event_id uuid NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL COLLATE pg_catalog."C",
    details jsonb,
    policy_version bigint,
    decisions jsonb,
    CONSTRAINT account_events_decisions_check CHECK ((jsonb_typeof(decisions) = 'array'::text)),
    CONSTRAINT account_events_decisions_have_policy CHECK (((decisions IS NULL) OR (policy_version IS NOT NULL)))
)
PARTITION BY RANGE (event_id);

CREATE TABLE public.account_events_default (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    event_id uuid NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL COLLATE pg_catalog."C",
    details jsonb,
    policy_version bigint,
    decisions jsonb,
    CONSTRAINT account_events_decisions_check CHECK ((jsonb_typeof(decisions) = 'array'::text)),
    CONSTRAINT account_events_decisions_have_policy CHECK (((decisions IS NULL) OR (policy_version IS NOT NULL)))
);

CREATE TABLE public.account_events_past (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    event_id uuid NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL COLLATE pg_catalog."C",
    details jsonb,
    policy_version bigint,
    decisions jsonb,
    CONSTRAINT account_events_decisions_check CHECK ((jsonb_typeof(decisions) = 'array'::text)),
    CONSTRAINT account_events_decisions_have_policy CHECK (((decisions IS NULL) OR (policy_version IS NOT NULL)))
);

CREATE TABLE public.account_journal (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    change_id uuid NOT NULL,
    step integer NOT NULL,
    table_name text NOT NULL COLLATE pg_catalog."C",
    row_key text NOT NULL COLLATE pg_catalog."C",
    before jsonb,
    after jsonb,
    kept_until timestamp with time zone NOT NULL,
    CONSTRAINT account_journal_step_check CHECK ((step >= 0)),
    CONSTRAINT account_journal_table_name_check CHECK ((table_name ~ '^[a-z_]{1,63}$'::text))
);

CREATE TABLE public.api_keys (
    api_key text NOT NULL COLLATE pg_catalog."C",
    display_name text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT api_keys_api_key_check CHECK (((length(api_key) >= 8) AND (length(api_key) <= 128)))
);

CREATE TABLE public.audit_plans (
    plan_id uuid NOT NULL,
    made_at timestamp with time zone NOT NULL,
    began_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    steps integer NOT NULL,
    skipped integer,
    kept_until timestamp with time zone NOT NULL,
    CONSTRAINT audit_plans_check CHECK (((finished_at IS NULL) = (skipped IS NULL))),
    CONSTRAINT audit_plans_skipped_check CHECK ((skipped >= 0)),
    CONSTRAINT audit_plans_steps_check CHECK ((steps >= 0))
);

CREATE TABLE public.audit_steps (
    plan_id uuid NOT NULL,
    step integer NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL COLLATE pg_catalog."C",
    version bigint,
    suspended_method text COLLATE pg_catalog."C",
    can_undo boolean NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    undone_at timestamp with time zone,
    kept_until timestamp with time zone NOT NULL,
    message_id uuid,
    CONSTRAINT audit_steps_check CHECK ((can_undo OR (undone_at IS NULL))),
    CONSTRAINT audit_steps_rule_check CHECK ((rule ~ '^[a-z-]{1,64}$'::text)),
    CONSTRAINT audit_steps_step_check CHECK ((step >= 1)),
    CONSTRAINT audit_steps_user_id_check CHECK (((length(user_id) >= 1) AND (length(user_id) <= 128))),
    CONSTRAINT audit_steps_version_check CHECK ((version >= 1))
);

CREATE TABLE public.code_methods (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    code_hash bytea NOT NULL,
    method text NOT NULL COLLATE pg_catalog."C",
    was_there boolean NOT NULL,
    password_hash text,
    subject text COLLATE pg_catalog."C",
    issuer text,
    email text,
    display_name text,
    photo_url text,
    screen_name text,
    linked_at timestamp with time zone,
    updated_at timestamp with time zone,
    proof text,
    proven_at timestamp with time zone,
    CONSTRAINT code_methods_check CHECK (((password_hash IS NOT NULL) = (was_there AND (method = 'password'::text)))),
    CONSTRAINT code_methods_check1 CHECK (((subject IS NOT NULL) = (was_there AND (method <> ALL (ARRAY['password'::text, 'emailLink'::text]))))),
    CONSTRAINT code_methods_check2 CHECK (((linked_at IS NOT NULL) = (was_there AND (method <> ALL (ARRAY['password'::text, 'emailLink'::text, 'phone'::text]))))),
    CONSTRAINT code_methods_check3 CHECK (((linked_at IS NULL) = (updated_at IS NULL))),
    CONSTRAINT code_methods_check4 CHECK (((proof IS NULL) = (proven_at IS NULL))),
    CONSTRAINT code_methods_display_name_check CHECK ((length(display_name) <= 256)),
    CONSTRAINT code_methods_email_check CHECK ((length(email) <= 255)),
    CONSTRAINT code_methods_photo_url_check CHECK ((length(photo_url) <= 2048)),
    CONSTRAINT code_methods_screen_name_check CHECK ((length(screen_name) <= 256)),
    CONSTRAINT code_methods_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255)))
);

CREATE TABLE public.conflict_returns (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    conflict_id bytea NOT NULL,
    continue_url text NOT NULL,
    state text,
    code_challenge bytea,
    session_id bytea,
    code_hash bytea,
    code_ends_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    given_session bytea,
    CONSTRAINT conflict_returns_attempts_check CHECK (((attempts >= 0) AND (attempts <= 5))),
    CONSTRAINT conflict_returns_check CHECK (((code_hash IS NULL) = (code_ends_at IS NULL))),
    CONSTRAINT conflict_returns_check1 CHECK (((code_hash IS NULL) OR ((code_challenge IS NOT NULL) AND (session_id IS NOT NULL)))),
    CONSTRAINT conflict_returns_check2 CHECK (((given_session IS NULL) OR (code_hash IS NOT NULL))),
    CONSTRAINT conflict_returns_code_challenge_check CHECK ((length(code_challenge) = 32)),
    CONSTRAINT conflict_returns_code_hash_check CHECK ((length(code_hash) = 32)),
    CONSTRAINT conflict_returns_continue_url_check CHECK (((octet_length(continue_url) >= 1) AND (octet_length(continue_url) <= 2048))),
    CONSTRAINT conflict_returns_given_session_check CHECK ((length(given_session) = 16)),
    CONSTRAINT conflict_returns_session_id_check CHECK ((length(session_id) = 16)),
    CONSTRAINT conflict_returns_state_check CHECK (((octet_length(state) >= 1) AND (octet_length(state) <= 512)))
);

CREATE TABLE public.conflicts (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    conflict_id bytea NOT NULL,
    state text NOT NULL,
    kind text NOT NULL,
    provider_id text NOT NULL COLLATE pg_catalog."C",
    identity_digest bytea NOT NULL,
    token_digests bytea[] NOT NULL,
    sealed_credential bytea NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    version bigint DEFAULT 1 NOT NULL,
    proofs_started integer DEFAULT 0 NOT NULL,
    proof_kind text,
    proof_session_epoch bigint,
    proof_policy_version bigint,
    proof_email text,
    proof_link_hash bytea,
    proof_sealed_code bytea,
    proof_attempts integer DEFAULT 0 NOT NULL,
    proof_expires_at timestamp with time zone,
    proof_token_hash bytea,
    account_method text DEFAULT 'other'::text NOT NULL COLLATE pg_catalog."C",
    is_counted boolean DEFAULT false NOT NULL,
    CONSTRAINT conflicts_account_method_check CHECK ((account_method ~ '^[A-Za-z.]{1,32}$'::text)),
    CONSTRAINT conflicts_check CHECK ((expires_at > opened_at)),
    CONSTRAINT conflicts_closed_check CHECK (((state = ANY (ARRAY['open'::text, 'proven'::text])) = (closed_at IS NULL))),
    CONSTRAINT conflicts_conflict_id_check CHECK ((length(conflict_id) = 16)),
    CONSTRAINT conflicts_identity_digest_check CHECK ((length(identity_digest) = 32)),
    CONSTRAINT conflicts_kind_check CHECK ((kind = ANY (ARRAY['account-exists-with-different-credential'::text, 'credential-already-in-use'::text, 'email-already-in-use'::text]))),
    CONSTRAINT conflicts_proof_attempts_check CHECK ((proof_attempts >= 0)),
    CONSTRAINT conflicts_proof_check CHECK ((((proof_kind IS NULL) = (proof_expires_at IS NULL)) AND ((proof_kind IS NULL) = (proof_session_epoch IS NULL)) AND ((proof_kind IS NULL) = (proof_policy_version IS NULL)))),
    CONSTRAINT conflicts_proof_email_check CHECK (((length(proof_email) >= 3) AND (length(proof_email) <= 255))),
    CONSTRAINT conflicts_proof_link_hash_check CHECK ((length(proof_link_hash) = 32)),
    CONSTRAINT conflicts_proof_token_hash_check CHECK ((length(proof_token_hash) = 32)),
    CONSTRAINT conflicts_proofs_started_check CHECK (((proofs_started >= 0) AND (proofs_started <= 100))),
    CONSTRAINT conflicts_proven_check CHECK (((state <> 'proven'::text) OR (proof_token_hash IS NOT NULL))),
    CONSTRAINT conflicts_state_check CHECK ((state = ANY (ARRAY['open'::text, 'proven'::text, 'resolved'::text, 'declined'::text, 'superseded'::text])))
);

CREATE TABLE public.devices (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    device_id bytea NOT NULL,
    slot integer NOT NULL,
    session_epoch bigint NOT NULL,
    name text,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT devices_device_id_check CHECK ((length(device_id) = 32)),
    CONSTRAINT devices_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200))),
    CONSTRAINT devices_slot_check CHECK (((slot >= 1) AND (slot <= 20)))
);

CREATE TABLE public.duties (
    duty text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    held_until timestamp with time zone NOT NULL,
    CONSTRAINT duties_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 100)))
);

CREATE TABLE public.factor_challenges (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    challenge_id bytea NOT NULL,
    purpose text NOT NULL COLLATE pg_catalog."C",
    session_epoch bigint NOT NULL,
    sealed_content bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone,
    consumed_by uuid,
    attempts integer DEFAULT 0 NOT NULL,
    CONSTRAINT factor_challenges_attempts_check CHECK (((attempts >= 0) AND (attempts <= 5))),
    CONSTRAINT factor_challenges_challenge_id_check CHECK ((length(challenge_id) = 16)),
    CONSTRAINT factor_challenges_check CHECK ((expires_at > created_at)),
    CONSTRAINT factor_challenges_check1 CHECK (((consumed_by IS NULL) = (consumed_at IS NULL))),
    CONSTRAINT factor_challenges_purpose_check CHECK ((purpose = ANY (ARRAY['sign-in'::text, 'enrollment'::text])))
);

CREATE TABLE public.hash_keys (
    slot integer NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    sealed_key bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT hash_keys_key_id_check CHECK ((key_id ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT hash_keys_sealed_key_check CHECK ((length(sealed_key) <= 8192)),
    CONSTRAINT hash_keys_slot_check CHECK (((slot >= 1) AND (slot <= 100)))
);

CREATE TABLE public.identifiers (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    reserved_until timestamp with time zone,
    CONSTRAINT identifiers_kind_check CHECK ((kind = ANY (ARRAY['email'::text, 'phone'::text, 'federated'::text]))),
    CONSTRAINT identifiers_reserved_check CHECK (((reserved_until IS NULL) OR (kind = 'email'::text))),
    CONSTRAINT identifiers_value_check CHECK (((length(value) >= 1) AND (length(value) <= 512)))
);

CREATE TABLE public.kept_answers (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    key_digest bytea NOT NULL,
    sealed_answer bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT kept_answers_key_digest_check CHECK ((length(key_digest) = 32)),
    CONSTRAINT kept_answers_sealed_answer_check CHECK ((length(sealed_answer) <= 65536)),
    CONSTRAINT kept_answers_user_id_check CHECK ((length(user_id) <= 128))
);

CREATE TABLE public.linked_providers (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    provider_id text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    issuer text,
    email text,
    email_key text COLLATE pg_catalog."C",
    display_name text,
    photo_url text,
    screen_name text,
    linked_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT linked_providers_display_name_check CHECK ((length(display_name) <= 256)),
    CONSTRAINT linked_providers_email_check CHECK ((length(email) <= 255)),
    CONSTRAINT linked_providers_email_key_check CHECK ((length(email_key) <= 255)),
    CONSTRAINT linked_providers_photo_url_check CHECK ((length(photo_url) <= 2048)),
    CONSTRAINT linked_providers_screen_name_check CHECK ((length(screen_name) <= 256)),
    CONSTRAINT linked_providers_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255)))
)
WITH (fillfactor='85');

CREATE TABLE public.merges (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    merge_id uuid NOT NULL,
    survivor_id text NOT NULL COLLATE pg_catalog."C",
    absorbed_id text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'prepared'::text NOT NULL COLLATE pg_catalog."C",
    choices jsonb NOT NULL,
    asked_by text NOT NULL COLLATE pg_catalog."C",
    reason text,
    survivor_version bigint NOT NULL,
    absorbed_version bigint NOT NULL,
    prepared_at timestamp with time zone NOT NULL,
    deadline_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    abort_reason text COLLATE pg_catalog."C",
    undo_until timestamp with time zone,
    undone_at timestamp with time zone,
    CONSTRAINT merges_abort_reason_check CHECK ((abort_reason = ANY (ARRAY['vetoed'::text, 'timed-out'::text, 'accounts-changed'::text, 'withdrawn'::text]))),
    CONSTRAINT merges_aborted_check CHECK (((state = 'aborted'::text) = (abort_reason IS NOT NULL))),
    CONSTRAINT merges_absorbed_id_check CHECK (((length(absorbed_id) >= 1) AND (length(absorbed_id) <= 128))),
    CONSTRAINT merges_asked_by_check CHECK ((asked_by = ANY (ARRAY['administrator'::text, 'owners'::text]))),
    CONSTRAINT merges_check CHECK ((deadline_at >= prepared_at)),
    CONSTRAINT merges_check1 CHECK ((survivor_id <> absorbed_id)),
    CONSTRAINT merges_check2 CHECK (((asked_by = 'administrator'::text) = (reason IS NOT NULL))),
    CONSTRAINT merges_choices_check CHECK ((jsonb_typeof(choices) = 'object'::text)),
    CONSTRAINT merges_committed_check CHECK (((state = ANY (ARRAY['committed'::text, 'undone'::text])) = (undo_until IS NOT NULL))),
    CONSTRAINT merges_ended_check CHECK (((state = 'prepared'::text) = (ended_at IS NULL))),
    CONSTRAINT merges_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500))),
    CONSTRAINT merges_state_check CHECK ((state = ANY (ARRAY['prepared'::text, 'committed'::text, 'aborted'::text, 'undone'::text]))),
    CONSTRAINT merges_survivor_id_check CHECK (((length(survivor_id) >= 1) AND (length(survivor_id) <= 128))),
    CONSTRAINT merges_undone_check CHECK (((state = 'undone'::text) = (undone_at IS NOT NULL)))
);

CREATE TABLE public.message_counts (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    count_digest bytea NOT NULL,
    messages bigint NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    CONSTRAINT message_counts_count_digest_check CHECK ((length(count_digest) = 32)),
    CONSTRAINT message_counts_messages_check CHECK ((messages > 0))
);

CREATE TABLE public.one_time_codes (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    code_hash bytea NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    session_epoch bigint,
    email text NOT NULL,
    email_key text NOT NULL COLLATE pg_catalog."C",
    new_email text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone,
    consumed_by uuid,
    attempts integer DEFAULT 0 NOT NULL,
    second_factor_id text COLLATE pg_catalog."C",
    address_was_proven boolean DEFAULT false NOT NULL,
    asked_auth_time timestamp with time zone,
    CONSTRAINT one_time_codes_address_was_proven_check CHECK (((NOT address_was_proven) OR (kind = ANY (ARRAY['RECOVER_EMAIL'::text, 'REVERT_SECOND_FACTOR_ADDITION'::text, 'REVERT_SIGN_IN_METHOD_CHANGE'::text])))),
    CONSTRAINT one_time_codes_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT one_time_codes_check CHECK (((consumed_by IS NULL) OR (consumed_at IS NOT NULL))),
    CONSTRAINT one_time_codes_check2 CHECK (((kind <> 'VERIFY_AND_CHANGE_EMAIL'::text) OR ((session_epoch IS NOT NULL) AND (new_email IS NOT NULL)))),
    CONSTRAINT one_time_codes_code_hash_check CHECK ((length(code_hash) = 32)),
    CONSTRAINT one_time_codes_email_check CHECK (((length(email) >= 3) AND (length(email) <= 255))),
    CONSTRAINT one_time_codes_email_key_check CHECK (((length(email_key) >= 3) AND (length(email_key) <= 255))),
    CONSTRAINT one_time_codes_kind_check CHECK ((kind = ANY (ARRAY['PASSWORD_RESET'::text, 'EMAIL_SIGNIN'::text, 'VERIFY_EMAIL'::text, 'VERIFY_AND_CHANGE_EMAIL'::text, 'RECOVER_EMAIL'::text, 'REVERT_SECOND_FACTOR_ADDITION'::text, 'REVERT_SIGN_IN_METHOD_CHANGE'::text, 'LOOKUP'::text]))),
    CONSTRAINT one_time_codes_new_email_check CHECK (((length(new_email) >= 3) AND (length(new_email) <= 255))),
    CONSTRAINT one_time_codes_second_factor_check CHECK (((kind = 'REVERT_SECOND_FACTOR_ADDITION'::text) = (second_factor_id IS NOT NULL))),
    CONSTRAINT one_time_codes_user_check CHECK (((kind = ANY (ARRAY['PASSWORD_RESET'::text, 'EMAIL_SIGNIN'::text, 'LOOKUP'::text])) OR (user_id IS NOT NULL)))
);

CREATE TABLE public.outbox (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    message_id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    sealed_payload bytea,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL COLLATE pg_catalog."C",
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    reason text,
    is_withheld boolean DEFAULT false NOT NULL,
    postponed_until timestamp with time zone,
    CONSTRAINT outbox_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT outbox_is_withheld_check CHECK ((NOT (is_withheld AND (state = 'sent'::text)))),
    CONSTRAINT outbox_kind_check CHECK ((kind ~ '^[a-z-]{1,32}$'::text)),
    CONSTRAINT outbox_payload_check CHECK (((state = 'failed'::text) OR ((state = 'pending'::text) = (sealed_payload IS NOT NULL)))),
    CONSTRAINT outbox_reason_check CHECK ((reason ~ '^[ -~]{1,64}$'::text)),
    CONSTRAINT outbox_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text, 'withheld'::text, 'discarded'::text])))
);

CREATE TABLE public.password_attempts (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    address_digest bytea NOT NULL,
    failures integer NOT NULL,
    locked_until timestamp with time zone NOT NULL,
    forgotten_at timestamp with time zone NOT NULL,
    of_address bytea,
    known_epoch bigint,
    known_until timestamp with time zone,
    CONSTRAINT password_attempts_address_digest_check CHECK ((length(address_digest) = 32)),
    CONSTRAINT password_attempts_check CHECK ((locked_until <= forgotten_at)),
    CONSTRAINT password_attempts_failures_check CHECK ((((failures >= 0) AND (failures <= 100)) AND ((failures > 0) OR (known_until IS NOT NULL)))),
    CONSTRAINT password_attempts_known_check CHECK ((((known_epoch IS NULL) = (known_until IS NULL)) AND ((known_until IS NULL) OR (of_address IS NOT NULL)))),
    CONSTRAINT password_attempts_of_address_check CHECK ((length(of_address) = 32))
);

CREATE TABLE public.password_credentials (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

CREATE TABLE public.password_sources (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    address_digest bytea NOT NULL,
    source_digest bytea NOT NULL,
    failures integer NOT NULL,
    locked_until timestamp with time zone NOT NULL,
    forgotten_at timestamp with time zone NOT NULL,
    known_epoch bigint,
    known_until timestamp with time zone,
    CONSTRAINT password_sources_address_digest_check CHECK ((length(address_digest) = 32)),
    CONSTRAINT password_sources_failures_check CHECK ((((failures >= 0) AND (failures <= 100)) AND ((failures > 0) OR (known_until IS NOT NULL)))),
    CONSTRAINT password_sources_known_check CHECK (((known_epoch IS NULL) = (known_until IS NULL))),
    CONSTRAINT password_sources_source_digest_check CHECK ((length(source_digest) = 32)),
    CONSTRAINT password_sources_times_check CHECK ((locked_until <= forgotten_at))
);

CREATE TABLE public.pending_sign_ups (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    sign_up_digest bytea NOT NULL,
    email text NOT NULL,
    link_hash bytea NOT NULL,
    sealed_code bytea NOT NULL,
    sealed_credential bytea,
    attempts integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone,
    consumed_by uuid,
    CONSTRAINT pending_sign_ups_attempts_check CHECK (((attempts >= 0) AND (attempts <= 5))),
    CONSTRAINT pending_sign_ups_check CHECK ((expires_at > created_at)),
    CONSTRAINT pending_sign_ups_check1 CHECK ((consumed_at >= created_at)),
    CONSTRAINT pending_sign_ups_email_check CHECK (((length(email) >= 3) AND (length(email) <= 255))),
    CONSTRAINT pending_sign_ups_link_hash_check CHECK ((length(link_hash) = 32)),
    CONSTRAINT pending_sign_ups_sealed_code_check CHECK ((length(sealed_code) <= 512)),
    CONSTRAINT pending_sign_ups_sign_up_digest_check CHECK ((length(sign_up_digest) = 32))
);

CREATE TABLE public.phone_verifications (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    verification_id bytea NOT NULL,
    session_digests bytea[] NOT NULL,
    purpose text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    number text NOT NULL COLLATE pg_catalog."C",
    sealed_code bytea,
    is_current boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone,
    consumed_by uuid,
    attempts integer DEFAULT 0 NOT NULL,
    CONSTRAINT phone_verifications_attempts_check CHECK (((attempts >= 0) AND (attempts <= 5))),
    CONSTRAINT phone_verifications_check CHECK (((consumed_by IS NULL) OR (consumed_at IS NOT NULL))),
    CONSTRAINT phone_verifications_check1 CHECK (((user_id IS NOT NULL) = (purpose = ANY (ARRAY['enrollment'::text, 'second-factor'::text])))),
    CONSTRAINT phone_verifications_check2 CHECK (((NOT is_current) OR ((consumed_at IS NULL) AND (sealed_code IS NOT NULL)))),
    CONSTRAINT phone_verifications_number_check CHECK ((number ~ '^\+[1-9][0-9]{6,14}$'::text)),
    CONSTRAINT phone_verifications_purpose_check CHECK ((purpose = ANY (ARRAY['sign-in'::text, 'enrollment'::text, 'second-factor'::text, 'temporary-proof'::text]))),
    CONSTRAINT phone_verifications_sealed_code_check CHECK ((length(sealed_code) <= 512)),
    CONSTRAINT phone_verifications_session_digests_check CHECK (((cardinality(session_digests) >= 1) AND (cardinality(session_digests) <= 10))),
    CONSTRAINT phone_verifications_verification_id_check CHECK ((length(verification_id) = 16))
);

CREATE TABLE public.project_config (
    singleton boolean DEFAULT true NOT NULL,
    project_id text NOT NULL,
    project_number bigint NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT project_config_project_id_check CHECK ((project_id ~ '^[a-z0-9][a-z0-9-]{2,61}[a-z0-9]$'::text)),
    CONSTRAINT project_config_project_number_check CHECK ((project_number > 0)),
    CONSTRAINT project_config_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text)),
    CONSTRAINT project_config_singleton_check CHECK (singleton)
);

CREATE TABLE public.project_config_versions (
    version bigint NOT NULL,
    settings jsonb NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    author text,
    reason text,
    provider_changes jsonb,
    CONSTRAINT project_config_versions_author_check CHECK (((length(author) >= 1) AND (length(author) <= 500))),
    CONSTRAINT project_config_versions_provider_changes_check CHECK ((jsonb_typeof(provider_changes) = 'object'::text)),
    CONSTRAINT project_config_versions_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500))),
    CONSTRAINT project_config_versions_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text)),
    CONSTRAINT project_config_versions_version_check CHECK ((version > 0))
);

CREATE TABLE public.project_images (
    digest text NOT NULL COLLATE pg_catalog."C",
    content_type text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    content bytea NOT NULL,
    stored_at timestamp with time zone NOT NULL,
    CONSTRAINT project_images_check CHECK ((digest = encode(sha256(content), 'hex'::text))),
    CONSTRAINT project_images_content_check CHECK (((octet_length(content) >= 1) AND (octet_length(content) <= 65536))),
    CONSTRAINT project_images_content_type_check CHECK ((content_type = ANY (ARRAY['image/png'::text, 'image/jpeg'::text, 'image/webp'::text]))),
    CONSTRAINT project_images_height_check CHECK (((height >= 16) AND (height <= 1024))),
    CONSTRAINT project_images_width_check CHECK (((width >= 16) AND (width <= 1024)))
);

CREATE TABLE public.proof_mails (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    place integer NOT NULL,
    free_at timestamp with time zone NOT NULL,
    CONSTRAINT proof_mails_place_check CHECK (((place >= 1) AND (place <= 10)))
);

CREATE TABLE public.provider_configs (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    provider_id text NOT NULL COLLATE pg_catalog."C",
    enabled boolean NOT NULL,
    display_name text,
    client_id text,
    sealed_client_secret bytea,
    issuer text,
    accepts_id_token boolean DEFAULT true NOT NULL,
    accepts_code boolean DEFAULT false NOT NULL,
    apple_bundle_ids text[] DEFAULT '{}'::text[] NOT NULL,
    apple_team_id text,
    apple_key_id text,
    sealed_apple_key bytea,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    addresses jsonb DEFAULT '{}'::jsonb NOT NULL,
    email_domains text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT provider_configs_addresses_check CHECK (((jsonb_typeof(addresses) = 'object'::text) AND (length((addresses)::text) <= 16384))),
    CONSTRAINT provider_configs_apple_key_id_check CHECK ((length(apple_key_id) <= 64)),
    CONSTRAINT provider_configs_apple_team_id_check CHECK ((length(apple_team_id) <= 64)),
    CONSTRAINT provider_configs_check CHECK (((provider_id ~~ 'oidc.%'::text) = (issuer IS NOT NULL))),
    CONSTRAINT provider_configs_check1 CHECK (((cardinality(email_domains) <= 100) AND (length((email_domains)::text) <= 32768) AND (array_position(email_domains, NULL::text) IS NULL) AND ((cardinality(email_domains) = 0) OR (provider_id ~~ 'oidc.%'::text)))),
    CONSTRAINT provider_configs_client_id_check CHECK ((length(client_id) <= 1024)),
    CONSTRAINT provider_configs_display_name_check CHECK ((length(display_name) <= 256)),
    CONSTRAINT provider_configs_issuer_check CHECK ((length(issuer) <= 2048)),
    CONSTRAINT provider_configs_provider_id_check CHECK (((length(provider_id) >= 1) AND (length(provider_id) <= 128)))
);

CREATE TABLE public.provider_flows (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    state_digest bytea NOT NULL,
    session_digest bytea NOT NULL,
    provider_id text NOT NULL COLLATE pg_catalog."C",
    sealed_flow bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT provider_flows_provider_id_check CHECK (((length(provider_id) >= 1) AND (length(provider_id) <= 128))),
    CONSTRAINT provider_flows_sealed_flow_check CHECK ((length(sealed_flow) <= 16384)),
    CONSTRAINT provider_flows_session_digest_check CHECK ((length(session_digest) = 32)),
    CONSTRAINT provider_flows_state_digest_check CHECK ((length(state_digest) = 32))
);

CREATE TABLE public.quarantined_methods (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    password_hash text,
    subject text COLLATE pg_catalog."C",
    event_id uuid NOT NULL,
    rule text NOT NULL COLLATE pg_catalog."C",
    quarantined_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT quarantined_methods_check CHECK ((expires_at > quarantined_at)),
    CONSTRAINT quarantined_methods_check1 CHECK (((method = 'password'::text) = (password_hash IS NOT NULL))),
    CONSTRAINT quarantined_methods_check2 CHECK (((method = 'password'::text) = (subject IS NULL))),
    CONSTRAINT quarantined_methods_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255)))
);

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone,
    duration_ms bigint,
    tool_version text NOT NULL,
    CONSTRAINT schema_migrations_check CHECK (((applied_at IS NULL) = (duration_ms IS NULL))),
    CONSTRAINT schema_migrations_checksum_check CHECK ((checksum ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT schema_migrations_version_check CHECK (((version >= 1) AND (version <= 9999)))
);

CREATE TABLE public.second_factors (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    enrollment_id text NOT NULL COLLATE pg_catalog."C",
    slot integer NOT NULL,
    number text COLLATE pg_catalog."C",
    sealed_secret bytea,
    last_step bigint,
    accepted_by uuid,
    display_name text,
    enrolled_at timestamp with time zone NOT NULL,
    CONSTRAINT second_factors_check CHECK (((number IS NULL) = (sealed_secret IS NOT NULL))),
    CONSTRAINT second_factors_check1 CHECK (((sealed_secret IS NULL) = (last_step IS NULL))),
    CONSTRAINT second_factors_check2 CHECK (((accepted_by IS NULL) OR (last_step IS NOT NULL))),
    CONSTRAINT second_factors_display_name_check CHECK (((length(display_name) >= 1) AND (length(display_name) <= 256))),
    CONSTRAINT second_factors_enrollment_id_check CHECK (((length(enrollment_id) >= 1) AND (length(enrollment_id) <= 128))),
    CONSTRAINT second_factors_last_step_check CHECK ((last_step >= 0)),
    CONSTRAINT second_factors_number_check CHECK ((number ~ '^\+[1-9][0-9]{6,14}$'::text)),
    CONSTRAINT second_factors_sealed_secret_check CHECK ((length(sealed_secret) <= 512)),
    CONSTRAINT second_factors_slot_check CHECK (((slot >= 1) AND (slot <= 5)))
);

CREATE TABLE public.service_accounts (
    key_id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    public_key bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT service_accounts_email_check CHECK (((length(email) >= 3) AND (length(email) <= 255))),
    CONSTRAINT service_accounts_key_id_check CHECK (((length(key_id) >= 8) AND (length(key_id) <= 128)))
);

CREATE TABLE public.sessions (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id bytea NOT NULL,
    secret_hash bytea NOT NULL,
    session_epoch bigint NOT NULL,
    auth_time timestamp with time zone NOT NULL,
    sign_in_provider text NOT NULL,
    second_factor text,
    second_factor_id text,
    session_claims jsonb,
    sign_in_attributes jsonb,
    started_at timestamp with time zone,
    last_used_at timestamp with time zone,
    lifetime_start timestamp with time zone,
    device text,
    used_day integer,
    CONSTRAINT sessions_check CHECK (((second_factor IS NULL) = (second_factor_id IS NULL))),
    CONSTRAINT sessions_secret_hash_check CHECK ((length(secret_hash) = 32)),
    CONSTRAINT sessions_session_id_check CHECK ((length(session_id) = 16))
);

CREATE TABLE public.short_codes (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    email_key text NOT NULL COLLATE pg_catalog."C",
    code_hash bytea,
    sealed_code bytea,
    attempts integer DEFAULT 0 NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT short_codes_attempts_check CHECK (((attempts >= 0) AND (attempts <= 5))),
    CONSTRAINT short_codes_check CHECK (((code_hash IS NULL) = (sealed_code IS NULL))),
    CONSTRAINT short_codes_code_hash_check CHECK ((length(code_hash) = 32)),
    CONSTRAINT short_codes_email_key_check CHECK (((length(email_key) >= 3) AND (length(email_key) <= 255))),
    CONSTRAINT short_codes_kind_check CHECK ((kind = ANY (ARRAY['PASSWORD_RESET'::text, 'EMAIL_SIGNIN'::text, 'VERIFY_EMAIL'::text, 'VERIFY_AND_CHANGE_EMAIL'::text, 'LOOKUP'::text]))),
    CONSTRAINT short_codes_sealed_code_check CHECK ((length(sealed_code) <= 512))
);

CREATE TABLE public.sign_in_methods (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    proof text NOT NULL,
    proven_at timestamp with time zone NOT NULL
);

CREATE TABLE public.sign_in_refusals (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    day integer NOT NULL,
    reason text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT sign_in_refusals_check CHECK ((last_at >= first_at)),
    CONSTRAINT sign_in_refusals_count_check CHECK ((count > 0)),
    CONSTRAINT sign_in_refusals_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 32)))
);

CREATE TABLE public.sign_in_returns (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id bytea NOT NULL,
    continue_url text NOT NULL,
    code_challenge bytea NOT NULL,
    code_hash bytea NOT NULL,
    code_ends_at timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    given_session bytea,
    CONSTRAINT sign_in_returns_attempts_check CHECK (((attempts >= 0) AND (attempts <= 5))),
    CONSTRAINT sign_in_returns_code_challenge_check CHECK ((length(code_challenge) = 32)),
    CONSTRAINT sign_in_returns_code_hash_check CHECK ((length(code_hash) = 32)),
    CONSTRAINT sign_in_returns_continue_url_check CHECK (((octet_length(continue_url) >= 1) AND (octet_length(continue_url) <= 2048))),
    CONSTRAINT sign_in_returns_given_session_check CHECK ((length(given_session) = 16)),
    CONSTRAINT sign_in_returns_session_id_check CHECK ((length(session_id) = 16))
);

CREATE TABLE public.signing_keys (
    key_id text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL,
    generation bigint NOT NULL,
    algorithm text NOT NULL,
    sealed_private_key bytea NOT NULL,
    certificate bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    signs_from timestamp with time zone NOT NULL,
    published_until timestamp with time zone,
    CONSTRAINT signing_keys_algorithm_check CHECK ((algorithm = ANY (ARRAY['ES256'::text, 'RS256'::text]))),
    CONSTRAINT signing_keys_generation_check CHECK ((generation > 0)),
    CONSTRAINT signing_keys_purpose_check CHECK ((purpose = ANY (ARRAY['id-token'::text, 'session-cookie'::text])))
);

CREATE TABLE public.used_id_tokens (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    token_digest bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT used_id_tokens_token_digest_check CHECK ((length(token_digest) = 32))
);

CREATE TABLE public.users (
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    version bigint DEFAULT 1 NOT NULL,
    session_epoch bigint NOT NULL,
    email text,
    email_proof text,
    email_proven_at timestamp with time zone,
    initial_email text,
    phone_number text,
    unproven_phone_number text,
    display_name text,
    photo_url text,
    screen_name text,
    language text,
    time_zone text,
    date_of_birth text,
    disabled boolean DEFAULT false NOT NULL,
    uses_custom_tokens boolean DEFAULT false NOT NULL,
    custom_attributes text,
    valid_since timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_login_at timestamp with time zone,
    last_refresh_at timestamp with time zone,
    session_ended_at timestamp with time zone,
    CONSTRAINT users_check CHECK (((email_proof IS NULL) = (email_proven_at IS NULL))),
    CONSTRAINT users_check1 CHECK (((email_proof IS NULL) OR (email IS NOT NULL))),
    CONSTRAINT users_custom_attributes_check CHECK ((length(custom_attributes) <= 1000)),
    CONSTRAINT users_date_of_birth_check CHECK ((length(date_of_birth) <= 64)),
    CONSTRAINT users_display_name_check CHECK ((length(display_name) <= 256)),
    CONSTRAINT users_email_check CHECK (((length(email) >= 3) AND (length(email) <= 255))),
    CONSTRAINT users_initial_email_check CHECK (((length(initial_email) >= 3) AND (length(initial_email) <= 255))),
    CONSTRAINT users_language_check CHECK ((length(language) <= 64)),
    CONSTRAINT users_phone_number_check CHECK ((phone_number ~ '^\+[1-9][0-9]{6,14}$'::text)),
    CONSTRAINT users_photo_url_check CHECK ((length(photo_url) <= 2048)),
    CONSTRAINT users_screen_name_check CHECK ((length(screen_name) <= 256)),
    CONSTRAINT users_time_zone_check CHECK ((length(time_zone) <= 64)),
    CONSTRAINT users_unproven_phone_number_check CHECK ((unproven_phone_number ~ '^\+[1-9][0-9]{6,14}$'::text)),
    CONSTRAINT users_user_id_check CHECK (((length(user_id) >= 1) AND (length(user_id) <= 128)))
)
WITH (fillfactor='85');

CREATE TABLE public.webhook_endpoints (
    endpoint_id uuid NOT NULL,
    slot smallint NOT NULL,
    url text NOT NULL,
    sealed_secret bytea NOT NULL,
    sealed_older_secret bytea,
    older_secret_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    failing_since timestamp with time zone,
    disabled_at timestamp with time zone,
    disabled_reason text,
    version bigint DEFAULT 1 NOT NULL,
    CONSTRAINT webhook_endpoints_check CHECK (((sealed_older_secret IS NULL) = (older_secret_until IS NULL))),
    CONSTRAINT webhook_endpoints_check1 CHECK (((disabled_at IS NULL) = (disabled_reason IS NULL))),
    CONSTRAINT webhook_endpoints_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text]))),
    CONSTRAINT webhook_endpoints_slot_check CHECK (((slot >= 1) AND (slot <= 10))),
    CONSTRAINT webhook_endpoints_url_check CHECK (((length(url) >= 1) AND (length(url) <= 2048)))
);

CREATE TABLE public.webhook_messages (
    "position" bigint NOT NULL,
    endpoint_id uuid NOT NULL,
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    message_id uuid NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    occurred_at timestamp with time zone NOT NULL,
    conflict_id bytea,
    method text COLLATE pg_catalog."C",
    rule text NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    last_status integer,
    finished_at timestamp with time zone,
    merge_id uuid,
    merged_user_id text COLLATE pg_catalog."C",
    method_changes jsonb,
    CONSTRAINT webhook_messages_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT webhook_messages_check CHECK (((state = 'pending'::text) = (finished_at IS NULL))),
    CONSTRAINT webhook_messages_conflict_id_check CHECK ((length(conflict_id) = 16)),
    CONSTRAINT webhook_messages_merge_check CHECK (((merge_id IS NULL) = (merged_user_id IS NULL))),
    CONSTRAINT webhook_messages_method_changes_check CHECK ((jsonb_typeof(method_changes) = 'object'::text)),
    CONSTRAINT webhook_messages_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text]))),
    CONSTRAINT webhook_messages_type_check CHECK ((type ~ '^[a-z]+[.][a-z]+$'::text))
);

ALTER TABLE public.webhook_messages ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_messages_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY public.account_events ATTACH PARTITION public.account_events_default DEFAULT;

ALTER TABLE ONLY public.account_events ATTACH PARTITION public.account_events_past FOR VALUES FROM (MINVALUE) TO ('019b76da-a800-0000-0000-000000000000');

ALTER TABLE ONLY public.account_events
    ADD CONSTRAINT account_events_pkey PRIMARY KEY (tenant_id, user_id, event_id);

ALTER TABLE ONLY public.account_events_default
    ADD CONSTRAINT account_events_default_pkey PRIMARY KEY (tenant_id, user_id, event_id);

ALTER TABLE ONLY public.account_events_past
    ADD CONSTRAINT account_events_past_pkey PRIMARY KEY (tenant_id, user_id, event_id);

ALTER TABLE ONLY public.account_journal
    ADD CONSTRAINT account_journal_pkey PRIMARY KEY (tenant_id, change_id, step, table_name, row_key);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (api_key);

ALTER TABLE ONLY public.audit_plans
    ADD CONSTRAINT audit_plans_pkey PRIMARY KEY (plan_id);

ALTER TABLE ONLY public.audit_steps
    ADD CONSTRAINT audit_steps_pkey PRIMARY KEY (plan_id, step);

ALTER TABLE ONLY public.code_methods
    ADD CONSTRAINT code_methods_pkey PRIMARY KEY (tenant_id, code_hash, method);

ALTER TABLE ONLY public.conflict_returns
    ADD CONSTRAINT conflict_returns_pkey PRIMARY KEY (tenant_id, user_id, conflict_id);

ALTER TABLE ONLY public.conflicts
    ADD CONSTRAINT conflicts_pkey PRIMARY KEY (tenant_id, user_id, conflict_id);

ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (tenant_id, user_id, device_id);

ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_slot_key UNIQUE (tenant_id, user_id, slot);

ALTER TABLE ONLY public.duties
    ADD CONSTRAINT duties_pkey PRIMARY KEY (duty);

ALTER TABLE ONLY public.factor_challenges
    ADD CONSTRAINT factor_challenges_pkey PRIMARY KEY (tenant_id, user_id, challenge_id);

ALTER TABLE ONLY public.hash_keys
    ADD CONSTRAINT hash_keys_key_id_key UNIQUE (key_id);

ALTER TABLE ONLY public.hash_keys
    ADD CONSTRAINT hash_keys_pkey PRIMARY KEY (slot);

ALTER TABLE ONLY public.identifiers
    ADD CONSTRAINT identifiers_pkey PRIMARY KEY (tenant_id, kind, value);

ALTER TABLE ONLY public.kept_answers
    ADD CONSTRAINT kept_answers_pkey PRIMARY KEY (tenant_id, user_id, key_digest);

ALTER TABLE ONLY public.linked_providers
    ADD CONSTRAINT linked_providers_pkey PRIMARY KEY (tenant_id, user_id, provider_id);

ALTER TABLE ONLY public.merges
    ADD CONSTRAINT merges_pkey PRIMARY KEY (tenant_id, merge_id);

ALTER TABLE ONLY public.message_counts
    ADD CONSTRAINT message_counts_pkey PRIMARY KEY (tenant_id, count_digest);

ALTER TABLE ONLY public.one_time_codes
    ADD CONSTRAINT one_time_codes_pkey PRIMARY KEY (tenant_id, code_hash);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (tenant_id, message_id);

ALTER TABLE ONLY public.password_attempts
    ADD CONSTRAINT password_attempts_pkey PRIMARY KEY (tenant_id, address_digest);

ALTER TABLE ONLY public.password_credentials
    ADD CONSTRAINT password_credentials_pkey PRIMARY KEY (tenant_id, user_id);

ALTER TABLE ONLY public.password_sources
    ADD CONSTRAINT password_sources_pkey PRIMARY KEY (tenant_id, address_digest, source_digest);

ALTER TABLE ONLY public.pending_sign_ups
    ADD CONSTRAINT pending_sign_ups_pkey PRIMARY KEY (tenant_id, sign_up_digest);

ALTER TABLE ONLY public.phone_verifications
    ADD CONSTRAINT phone_verifications_pkey PRIMARY KEY (tenant_id, verification_id);

ALTER TABLE ONLY public.project_config
    ADD CONSTRAINT project_config_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY public.project_config_versions
    ADD CONSTRAINT project_config_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.project_images
    ADD CONSTRAINT project_images_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.proof_mails
    ADD CONSTRAINT proof_mails_pkey PRIMARY KEY (tenant_id, user_id, place);

ALTER TABLE ONLY public.provider_configs
    ADD CONSTRAINT provider_configs_pkey PRIMARY KEY (tenant_id, provider_id);

ALTER TABLE ONLY public.provider_flows
    ADD CONSTRAINT provider_flows_pkey PRIMARY KEY (tenant_id, state_digest);

ALTER TABLE ONLY public.quarantined_methods
    ADD CONSTRAINT quarantined_methods_pkey PRIMARY KEY (tenant_id, user_id, method);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_number_key UNIQUE (tenant_id, user_id, number) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_pkey PRIMARY KEY (tenant_id, user_id, enrollment_id);

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_slot_key UNIQUE (tenant_id, user_id, slot) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.service_accounts
    ADD CONSTRAINT service_accounts_pkey PRIMARY KEY (key_id);

ALTER TABLE public.sessions
    ADD CONSTRAINT sessions_device_check CHECK (((length(device) >= 1) AND (length(device) <= 200))) NOT VALID;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (tenant_id, user_id, session_id);

ALTER TABLE ONLY public.short_codes
    ADD CONSTRAINT short_codes_pkey PRIMARY KEY (tenant_id, kind, email_key);

ALTER TABLE ONLY public.sign_in_methods
    ADD CONSTRAINT sign_in_methods_pkey PRIMARY KEY (tenant_id, user_id, method);

ALTER TABLE ONLY public.sign_in_refusals
    ADD CONSTRAINT sign_in_refusals_pkey PRIMARY KEY (tenant_id, user_id, day, reason);

ALTER TABLE ONLY public.sign_in_returns
    ADD CONSTRAINT sign_in_returns_pkey PRIMARY KEY (tenant_id, user_id, session_id);

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_purpose_generation_key UNIQUE (purpose, generation);

ALTER TABLE ONLY public.used_id_tokens
    ADD CONSTRAINT used_id_tokens_pkey PRIMARY KEY (tenant_id, user_id, token_digest);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (tenant_id, user_id);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (endpoint_id);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_slot_key UNIQUE (slot);

ALTER TABLE ONLY public.webhook_messages
    ADD CONSTRAINT webhook_messages_endpoint_id_message_id_key UNIQUE (endpoint_id, message_id);

ALTER TABLE ONLY public.webhook_messages
    ADD CONSTRAINT webhook_messages_pkey PRIMARY KEY ("position");

CREATE INDEX account_events_by_id ON ONLY public.account_events USING btree (event_id);

CREATE INDEX account_events_default_event_id_idx ON public.account_events_default USING btree (event_id);

CREATE INDEX account_events_past_by_id ON public.account_events_past USING btree (event_id);

CREATE INDEX account_journal_by_end ON public.account_journal USING btree (kept_until);

CREATE INDEX audit_plans_by_end ON public.audit_plans USING btree (kept_until);

CREATE INDEX audit_steps_by_end ON public.audit_steps USING btree (kept_until);

CREATE INDEX audit_steps_by_user ON public.audit_steps USING btree (plan_id, tenant_id, user_id);

CREATE INDEX conflict_returns_of_code ON public.conflict_returns USING btree (tenant_id, code_hash) WHERE (code_hash IS NOT NULL);

CREATE INDEX conflicts_by_expiry ON public.conflicts USING btree (expires_at);

CREATE INDEX conflicts_by_time ON public.conflicts USING btree (tenant_id, opened_at, user_id, conflict_id);

CREATE UNIQUE INDEX conflicts_live ON public.conflicts USING btree (tenant_id, user_id, identity_digest) WHERE (state = ANY (ARRAY['open'::text, 'proven'::text]));

CREATE INDEX conflicts_proven ON public.conflicts USING btree (tenant_id, user_id) WHERE (state = 'proven'::text);

CREATE INDEX conflicts_uncounted ON public.conflicts USING btree (COALESCE(closed_at, expires_at)) WHERE (NOT is_counted);

CREATE INDEX devices_by_expiry ON public.devices USING btree (expires_at);

CREATE INDEX factor_challenges_by_expiry ON public.factor_challenges USING btree (expires_at);

CREATE INDEX identifiers_reserved ON public.identifiers USING btree (reserved_until) WHERE (reserved_until IS NOT NULL);

CREATE INDEX kept_answers_by_expiry ON public.kept_answers USING btree (expires_at);

CREATE INDEX linked_providers_by_email ON public.linked_providers USING btree (tenant_id, email_key) WHERE (email_key IS NOT NULL);

CREATE INDEX linked_providers_by_issuer ON public.linked_providers USING btree (tenant_id, provider_id, issuer) WHERE (issuer IS NOT NULL);

CREATE INDEX merges_by_absorbed ON public.merges USING btree (tenant_id, absorbed_id, prepared_at);

CREATE INDEX merges_by_survivor ON public.merges USING btree (tenant_id, survivor_id, prepared_at);

CREATE UNIQUE INDEX merges_live_absorbed ON public.merges USING btree (tenant_id, absorbed_id) WHERE (state = 'prepared'::text);

CREATE UNIQUE INDEX merges_live_survivor ON public.merges USING btree (tenant_id, survivor_id) WHERE (state = 'prepared'::text);

CREATE INDEX merges_over ON public.merges USING btree (ended_at) WHERE (state = ANY (ARRAY['aborted'::text, 'undone'::text]));

CREATE UNIQUE INDEX merges_tombstone ON public.merges USING btree (tenant_id, absorbed_id) WHERE (state = 'committed'::text);

CREATE INDEX merges_waiting ON public.merges USING btree (prepared_at) WHERE (state = 'prepared'::text);

CREATE INDEX message_counts_by_end ON public.message_counts USING btree (ends_at);

CREATE INDEX one_time_codes_by_expiry ON public.one_time_codes USING btree (expires_at);

CREATE INDEX one_time_codes_by_user ON public.one_time_codes USING btree (tenant_id, user_id);

CREATE INDEX outbox_by_expiry ON public.outbox USING btree (expires_at);

CREATE INDEX outbox_done ON public.outbox USING btree (created_at) WHERE (state <> 'pending'::text);

CREATE INDEX outbox_due ON public.outbox USING btree (kind, next_attempt_at) WHERE (state = 'pending'::text);

CREATE INDEX outbox_failed ON public.outbox USING btree (created_at) WHERE (state = 'failed'::text);

CREATE INDEX outbox_waiting ON public.outbox USING btree (kind, created_at) WHERE (state = 'pending'::text);

CREATE INDEX password_attempts_by_end ON public.password_attempts USING btree (GREATEST(forgotten_at, known_until));

CREATE INDEX password_attempts_of_address ON public.password_attempts USING btree (tenant_id, of_address) WHERE (of_address IS NOT NULL);

CREATE INDEX password_sources_by_end ON public.password_sources USING btree (GREATEST(forgotten_at, known_until));

CREATE INDEX pending_sign_ups_by_expiry ON public.pending_sign_ups USING btree (expires_at);

CREATE INDEX phone_verifications_by_expiry ON public.phone_verifications USING btree (expires_at);

CREATE UNIQUE INDEX phone_verifications_current ON public.phone_verifications USING btree (tenant_id, number, purpose) WHERE is_current;

CREATE INDEX proof_mails_by_end ON public.proof_mails USING btree (free_at);

CREATE INDEX provider_flows_by_expiry ON public.provider_flows USING btree (expires_at);

CREATE INDEX quarantined_methods_by_expiry ON public.quarantined_methods USING btree (expires_at);

CREATE INDEX second_factors_by_number ON public.second_factors USING btree (tenant_id, number) WHERE (number IS NOT NULL);

CREATE INDEX sessions_by_used_day ON public.sessions USING btree (used_day);

CREATE INDEX short_codes_by_expiry ON public.short_codes USING btree (expires_at);

CREATE INDEX sign_in_refusals_by_day ON public.sign_in_refusals USING btree (day);

CREATE INDEX sign_in_returns_by_end ON public.sign_in_returns USING btree (code_ends_at);

CREATE INDEX used_id_tokens_by_expiry ON public.used_id_tokens USING btree (expires_at);

CREATE INDEX users_by_creation ON public.users USING btree (((tenant_id || ''::text)), created_at, user_id);

CREATE INDEX users_by_initial_email ON public.users USING btree (tenant_id, lower((initial_email COLLATE "C"))) WHERE (initial_email IS NOT NULL);

CREATE INDEX webhook_messages_done ON public.webhook_messages USING btree (finished_at) WHERE (state <> 'pending'::text);

CREATE INDEX webhook_messages_due ON public.webhook_messages USING btree (endpoint_id, next_attempt_at) WHERE (state = 'pending'::text);

CREATE INDEX webhook_messages_failed ON public.webhook_messages USING btree (endpoint_id, "position") WHERE (state = 'failed'::text);

CREATE INDEX webhook_messages_of_merge ON public.webhook_messages USING btree (merge_id) WHERE (merge_id IS NOT NULL);

CREATE INDEX webhook_messages_waiting ON public.webhook_messages USING btree (endpoint_id, tenant_id, user_id, "position") WHERE (state = 'pending'::text);

ALTER INDEX public.account_events_by_id ATTACH PARTITION public.account_events_default_event_id_idx;

ALTER INDEX public.account_events_pkey ATTACH PARTITION public.account_events_default_pkey;

ALTER INDEX public.account_events_by_id ATTACH PARTITION public.account_events_past_by_id;

ALTER INDEX public.account_events_pkey ATTACH PARTITION public.account_events_past_pkey;

ALTER TABLE ONLY public.audit_steps
    ADD CONSTRAINT audit_steps_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES public.audit_plans(plan_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.code_methods
    ADD CONSTRAINT code_methods_tenant_id_code_hash_fkey FOREIGN KEY (tenant_id, code_hash) REFERENCES public.one_time_codes(tenant_id, code_hash) ON DELETE CASCADE;

ALTER TABLE ONLY public.conflict_returns
    ADD CONSTRAINT conflict_returns_tenant_id_user_id_conflict_id_fkey FOREIGN KEY (tenant_id, user_id, conflict_id) REFERENCES public.conflicts(tenant_id, user_id, conflict_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.conflicts
    ADD CONSTRAINT conflicts_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.factor_challenges
    ADD CONSTRAINT factor_challenges_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.linked_providers
    ADD CONSTRAINT linked_providers_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.password_credentials
    ADD CONSTRAINT password_credentials_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.proof_mails
    ADD CONSTRAINT proof_mails_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.quarantined_methods
    ADD CONSTRAINT quarantined_methods_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sign_in_methods
    ADD CONSTRAINT sign_in_methods_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sign_in_refusals
    ADD CONSTRAINT sign_in_refusals_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sign_in_returns
    ADD CONSTRAINT sign_in_returns_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.used_id_tokens
    ADD CONSTRAINT used_id_tokens_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhook_messages
    ADD CONSTRAINT webhook_messages_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.webhook_endpoints(endpoint_id) ON DELETE CASCADE;

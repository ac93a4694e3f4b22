INSERT INTO outbox (tenant_id, message_id, kind, sealed_payload, created_at, expires_at, state, attempts, next_attempt_at,
    reason, postponed_until)
VALUES ('', '00000000-0000-7000-8000-000000000031', 'mail', NULL, '2026-01-02 03:04:05+00', '2026-01-02 04:04:05+00',
    'discarded', 1, '2026-01-02 03:05:05+00', 'operator', '2026-01-02 03:05:05+00')
ON CONFLICT DO NOTHING;
INSERT INTO audit_steps (plan_id, step, tenant_id, user_id, rule, version, suspended_method, can_undo, applied_at, kept_until,
    message_id)
VALUES ('00000000-0000-7000-8000-000000000028', 2, '', 'user-1', 'weak-password-hash', 3, 'password', true,
    '2026-01-02 03:05:06+00', '2026-02-02 03:04:05+00', '00000000-0000-7000-8000-000000000031')
ON CONFLICT DO NOTHING;

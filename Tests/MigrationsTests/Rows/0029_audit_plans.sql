INSERT INTO audit_plans (plan_id, made_at, began_at, finished_at, steps, skipped, kept_until)
VALUES ('00000000-0000-7000-8000-000000000028', '2026-01-02 03:04:05+00', '2026-01-02 03:05:05+00',
    '2026-01-02 03:06:05+00', 2, 1, '2026-02-02 03:04:05+00');
INSERT INTO audit_steps (plan_id, step, tenant_id, user_id, rule, version, can_undo, applied_at, kept_until)
VALUES ('00000000-0000-7000-8000-000000000028', 1, '', 'user-1', 'identifier-without-claim', 2, true,
    '2026-01-02 03:05:06+00', '2026-02-02 03:04:05+00');

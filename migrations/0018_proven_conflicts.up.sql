-- A sign-in looks for the account's proven conflicts. Anybody can open conflicts about an account, few are ever proven: the
-- others must not be in the way.

CREATE INDEX conflicts_proven ON conflicts (tenant_id, user_id) WHERE state = 'proven';

INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests, sealed_credential,
                       opened_at, expires_at)
VALUES ('fixture-user', decode(repeat('03', 16), 'hex'), 'open', 'account-exists-with-different-credential',
        'google.com', decode(repeat('04', 32), 'hex'), ARRAY[decode(repeat('05', 32), 'hex')], '\x06',
        '2026-01-02 03:04:05+00', '2026-01-02 04:04:05+00');

-- The down migration does not delete the row.
DELETE FROM conflicts WHERE conflict_id = decode(repeat('13', 16), 'hex');
INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests, sealed_credential,
                       opened_at, expires_at, version, proofs_started, proof_kind, proof_session_epoch,
                       proof_policy_version, proof_email, proof_link_hash, proof_sealed_code, proof_attempts,
                       proof_expires_at, proof_token_hash)
VALUES ('fixture-user', decode(repeat('13', 16), 'hex'), 'proven', 'email-already-in-use', 'facebook.com',
        decode(repeat('14', 32), 'hex'), ARRAY[decode(repeat('15', 32), 'hex')], '\x16', '2026-01-02 03:04:05+00',
        '2026-01-02 04:04:05+00', 3, 1, 'mailbox', 7, 1, 'ann@example.com', decode(repeat('17', 32), 'hex'), '\x18', 2,
        '2026-01-02 03:19:05+00', decode(repeat('19', 32), 'hex'));

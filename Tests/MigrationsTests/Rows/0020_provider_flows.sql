INSERT INTO provider_flows (state_digest, session_digest, provider_id, sealed_flow, expires_at)
VALUES (decode(repeat('24', 32), 'hex'), decode(repeat('25', 32), 'hex'), 'google.com', '\x26', '2026-01-02 03:04:05+00');

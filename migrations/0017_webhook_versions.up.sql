-- A version for each webhook endpoint, so that an operator changes what they have seen.

-- Raised by another secret, by switching it off and by switching it on again.
ALTER TABLE webhook_endpoints ADD COLUMN version bigint NOT NULL DEFAULT 1;

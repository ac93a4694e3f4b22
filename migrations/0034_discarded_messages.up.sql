-- Messages that an operator, or the undo of a plan, withdraws before they leave.

ALTER TABLE outbox
    -- What next_attempt_at was set to when a worker gave the message back. While both are equal nobody has the message. What a
    -- worker claims gets a later next_attempt_at, and this stays.
    ADD COLUMN postponed_until timestamptz,
    DROP CONSTRAINT outbox_state_check,
    -- 'discarded': withdrawn, and blanked like one that was sent.
    ADD CONSTRAINT outbox_state_check CHECK (state IN ('pending', 'sent', 'failed', 'withheld', 'discarded')) NOT VALID;

ALTER TABLE audit_steps
    -- The mail that told the owner of the step; NULL where there was none.
    ADD COLUMN message_id uuid;

-- The version before knows no such message.
DELETE FROM webhook_messages WHERE merge_id IS NOT NULL;
ALTER TABLE webhook_messages
    DROP COLUMN merge_id,
    DROP COLUMN merged_user_id;

DROP TABLE merges;

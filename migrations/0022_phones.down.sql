DROP TABLE message_counts;
DROP TABLE phone_verifications;

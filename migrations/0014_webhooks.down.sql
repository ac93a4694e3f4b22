DROP TABLE webhook_messages;
DROP TABLE webhook_endpoints;

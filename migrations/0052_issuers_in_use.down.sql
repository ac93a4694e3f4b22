-- migrate: no-transaction
DROP INDEX CONCURRENTLY IF EXISTS linked_providers_by_issuer;

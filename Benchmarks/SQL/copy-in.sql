-- Copies the files that copy-out.sql wrote into a migrated database.

\set file :folder '/users.copy'
COPY users FROM :'file';
\set file :folder '/identifiers.copy'
COPY identifiers FROM :'file';
\set file :folder '/password_credentials.copy'
COPY password_credentials FROM :'file';
\set file :folder '/linked_providers.copy'
COPY linked_providers FROM :'file';
\set file :folder '/sign_in_methods.copy'
COPY sign_in_methods FROM :'file';
\set file :folder '/account_events.copy'
COPY account_events FROM :'file';

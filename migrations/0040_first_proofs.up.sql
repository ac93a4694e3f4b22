-- Sign-in of the session that asked for a code that verifies an address, to the second, as its ID tokens say; NULL where no
-- session asked. A first proof that comes without that session ends the sessions of the account.
ALTER TABLE one_time_codes ADD COLUMN asked_auth_time timestamptz;

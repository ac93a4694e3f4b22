DROP TABLE pending_sign_ups;

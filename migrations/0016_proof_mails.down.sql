DROP TABLE proof_mails;

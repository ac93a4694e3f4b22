\set aid random(1, :users)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;

DROP TABLE audit_steps;
DROP TABLE audit_plans;

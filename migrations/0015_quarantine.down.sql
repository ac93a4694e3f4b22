DROP TABLE quarantined_methods;

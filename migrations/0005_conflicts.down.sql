DROP TABLE conflicts;

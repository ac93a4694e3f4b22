DROP INDEX conflicts_by_time;

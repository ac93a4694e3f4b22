DROP INDEX conflicts_proven;

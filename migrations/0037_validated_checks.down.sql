DROP INDEX identifiers_reserved;

-- The version before ignores `linkPolicy`, and a project that goes up again keeps its values.
SELECT;

-- A project that exists keeps the rules it was made under: the preset `firebase` stands for them. New projects follow
-- `strict`.

UPDATE project_config
SET settings = jsonb_set(settings, '{linkPolicy}', coalesce(settings -> 'linkPolicy', '{}') || '{"preset": "firebase"}')
WHERE settings #> '{linkPolicy,preset}' IS NULL;

UPDATE project_config_versions
SET settings = jsonb_set(settings, '{linkPolicy}', coalesce(settings -> 'linkPolicy', '{}') || '{"preset": "firebase"}')
WHERE settings #> '{linkPolicy,preset}' IS NULL;

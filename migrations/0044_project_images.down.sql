-- The version before ignores the settings that name an image. A project that goes up again stores its logo again.
DROP TABLE project_images;

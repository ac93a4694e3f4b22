DROP TABLE project_images;

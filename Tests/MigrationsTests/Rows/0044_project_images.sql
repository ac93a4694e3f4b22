INSERT INTO project_images (digest, content_type, width, height, content, stored_at)
VALUES (encode(sha256('\x89504e47'::bytea), 'hex'), 'image/png', 96, 32, '\x89504e47', '2026-01-02 03:04:05+00');

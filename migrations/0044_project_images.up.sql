-- Logos of the project. The settings name an image by its digest, so that a version of the settings always means the same image.
CREATE TABLE project_images (
    -- SHA-256 of the content, in lower-case hexadecimal digits.
    digest       text        COLLATE "C" PRIMARY KEY CHECK (digest = encode(sha256(content), 'hex')),
    content_type text        NOT NULL CHECK (content_type IN ('image/png', 'image/jpeg', 'image/webp')),
    width        integer     NOT NULL CHECK (width BETWEEN 16 AND 1024),
    height       integer     NOT NULL CHECK (height BETWEEN 16 AND 1024),
    content      bytea       NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 65536),
    -- The last time that a change of the settings brought the image.
    stored_at    timestamptz NOT NULL
);

#ifndef CONCORD_EMBEDDED_FILES_H
#define CONCORD_EMBEDDED_FILES_H

#include <stddef.h>

/// A file of the repository that the program contains.
typedef struct {
    /// From the root of the repository: `Sources/AccountAPI/Pages/page.css`.
    const char *path;
    const unsigned char *bytes;
    size_t count;
} CEmbeddedFile;

/// Every file, sorted by path. They live as long as the program.
const CEmbeddedFile *cembedded_files(void);
size_t cembedded_files_count(void);

#endif

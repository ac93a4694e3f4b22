#ifndef CUNICODESECURITY_H
#define CUNICODESECURITY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Writes the skeleton of `text` (Unicode Technical Standard #39, section 4) into `skeleton`. Both are UTF-8. Texts
/// with the same skeleton are confusable.
///
/// Thread-safe. Returns the length of the whole skeleton; -1 if the library failed. A skeleton longer than `capacity`
/// is cut off.
int32_t CUnicodeSecuritySkeleton(const char *text, int32_t length, char *skeleton, int32_t capacity);

#ifdef __cplusplus
}
#endif

#endif

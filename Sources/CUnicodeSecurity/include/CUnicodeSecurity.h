#ifndef CUNICODESECURITY_H
#define CUNICODESECURITY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Writes the skeleton of `text` (Unicode Technical Standard #39, section 4), both UTF-8, into `skeleton`: texts with the
/// same skeleton can be taken for one another.
///
/// Safe to call from any thread. Returns the length of the skeleton, which is cut off where it is over `capacity`; -1 when
/// the library could not answer.
int32_t CUnicodeSecuritySkeleton(const char *text, int32_t length, char *skeleton, int32_t capacity);

#ifdef __cplusplus
}
#endif

#endif

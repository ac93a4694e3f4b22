#include "CUnicodeSecurity.h"

#include <pthread.h>
#include <unicode/uspoof.h>

// An open ICU checker is immutable, so threads can share it.
static USpoofChecker *checker;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void openChecker(void) {
    UErrorCode status = U_ZERO_ERROR;
    USpoofChecker *made = uspoof_open(&status);
    if (U_SUCCESS(status)) checker = made;
}

int32_t CUnicodeSecuritySkeleton(const char *text, int32_t length, char *skeleton, int32_t capacity) {
    pthread_once(&opened, openChecker);
    if (checker == 0) return -1;
    UErrorCode status = U_ZERO_ERROR;
    int32_t written = uspoof_getSkeletonUTF8(checker, 0, text, length, skeleton, capacity, &status);
    if (U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR) return written;
    return -1;
}

#ifndef CPHONENUMBER_H
#define CPHONENUMBER_H

#ifdef __cplusplus
extern "C" {
#endif

/// libphonenumber's verdict about a text.
typedef enum __attribute__((enum_extensibility(closed))) CPhoneNumberVerdict {
    CPhoneNumberValid = 0,
    CPhoneNumberNoNumber = 1,
    CPhoneNumberUnknownCountryCode = 2,
    CPhoneNumberTooShort = 3,
    CPhoneNumberTooLong = 4,
    /// A number of a possible length, in a range that its country does not assign.
    CPhoneNumberUnassigned = 5,
    /// The library could not answer.
    CPhoneNumberFailed = 6,
} CPhoneNumberVerdict;

typedef struct {
    /// E.164 (`+` and digits), zero-terminated. Longer than any number.
    char e164[24];
    /// ISO 3166-1 alpha-2, "001" for numbers of no country, or empty. Zero-terminated.
    char region[8];
} CPhoneNumberDescription;

/// Validates `text` of `length` bytes, which begins with `+`. Writes `description` only if the number is valid.
///
/// Thread-safe. Throws no exception and leaves no allocation behind.
CPhoneNumberVerdict CPhoneNumberJudge(const char *text, int length, CPhoneNumberDescription *description);

#ifdef __cplusplus
}
#endif

#endif

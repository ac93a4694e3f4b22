#ifndef CPHONENUMBER_H
#define CPHONENUMBER_H

#ifdef __cplusplus
extern "C" {
#endif

/// What libphonenumber makes of a text.
typedef enum __attribute__((enum_extensibility(closed))) CPhoneNumberVerdict {
    CPhoneNumberValid = 0,
    CPhoneNumberNoNumber = 1,
    CPhoneNumberUnknownCountryCode = 2,
    CPhoneNumberTooShort = 3,
    CPhoneNumberTooLong = 4,
    /// Of a length that its country has, in a range that nobody is given.
    CPhoneNumberUnassigned = 5,
    /// The library could not answer.
    CPhoneNumberFailed = 6,
} CPhoneNumberVerdict;

typedef struct {
    /// E.164 (`+` and at most 17 digits, more than there ever are), ended by a zero.
    char e164[24];
    /// ISO 3166-1 alpha-2, "001" for numbers of no country, or empty; ended by a zero.
    char region[8];
} CPhoneNumberDescription;

/// Judges `text` of `length` bytes, which begins with `+`. Writes `description` only where it is valid.
///
/// Safe to call from any thread; throws nothing, allocates nothing that outlives the call.
CPhoneNumberVerdict CPhoneNumberJudge(const char *text, int length, CPhoneNumberDescription *description);

#ifdef __cplusplus
}
#endif

#endif

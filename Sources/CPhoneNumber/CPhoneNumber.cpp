#include "CPhoneNumber.h"

#include <phonenumbers/phonenumber.pb.h>
#include <phonenumbers/phonenumberutil.h>

#include <cstring>
#include <string>

using i18n::phonenumbers::PhoneNumber;
using i18n::phonenumbers::PhoneNumberUtil;

namespace {

CPhoneNumberVerdict verdict(PhoneNumberUtil::ErrorType error) {
    switch (error) {
    case PhoneNumberUtil::NO_PARSING_ERROR: return CPhoneNumberValid;
    case PhoneNumberUtil::INVALID_COUNTRY_CODE_ERROR: return CPhoneNumberUnknownCountryCode;
    case PhoneNumberUtil::NOT_A_NUMBER: return CPhoneNumberNoNumber;
    case PhoneNumberUtil::TOO_SHORT_AFTER_IDD: return CPhoneNumberTooShort;
    case PhoneNumberUtil::TOO_SHORT_NSN: return CPhoneNumberTooShort;
    case PhoneNumberUtil::TOO_LONG_NSN: return CPhoneNumberTooLong;
    }
    return CPhoneNumberFailed;
}

CPhoneNumberVerdict verdict(PhoneNumberUtil::ValidationResult result) {
    switch (result) {
    case PhoneNumberUtil::IS_POSSIBLE: return CPhoneNumberValid;
    // A local number, which other countries cannot call.
    case PhoneNumberUtil::IS_POSSIBLE_LOCAL_ONLY: return CPhoneNumberTooShort;
    case PhoneNumberUtil::INVALID_COUNTRY_CODE: return CPhoneNumberUnknownCountryCode;
    case PhoneNumberUtil::TOO_SHORT: return CPhoneNumberTooShort;
    case PhoneNumberUtil::INVALID_LENGTH: return CPhoneNumberUnassigned;
    case PhoneNumberUtil::TOO_LONG: return CPhoneNumberTooLong;
    }
    return CPhoneNumberFailed;
}

template <size_t size>
bool copy(const std::string &text, char (&target)[size]) {
    if (text.size() >= size) return false;
    std::memcpy(target, text.c_str(), text.size() + 1);
    return true;
}

}  // namespace

CPhoneNumberVerdict CPhoneNumberJudge(const char *text, int length, CPhoneNumberDescription *description) {
    try {
        // Created once for the process, by the first call. Its methods only read.
        const PhoneNumberUtil &util = *PhoneNumberUtil::GetInstance();
        PhoneNumber number;
        // "ZZ" is no region: the number must have a country code.
        CPhoneNumberVerdict parsed = verdict(util.Parse(std::string(text, length), "ZZ", &number));
        if (parsed != CPhoneNumberValid) return parsed;
        CPhoneNumberVerdict possible = verdict(util.IsPossibleNumberWithReason(number));
        if (possible != CPhoneNumberValid) return possible;
        if (!util.IsValidNumber(number)) return CPhoneNumberUnassigned;
        std::string e164;
        std::string region;
        util.Format(number, PhoneNumberUtil::E164, &e164);
        util.GetRegionCodeForNumber(number, &region);
        if (!copy(e164, description->e164) || !copy(region, description->region)) return CPhoneNumberFailed;
        return CPhoneNumberValid;
    } catch (...) {
        return CPhoneNumberFailed;
    }
}

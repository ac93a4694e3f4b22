package import AccountLinking
import CPhoneNumber

/// A number that somebody can be given, and where.
package struct DialableNumber: Sendable, Hashable {
    package let number: PhoneNumber
    /// ISO 3166-1 alpha-2; `001` for a number of no country.
    package let region: String
}

/// Why a number cannot be sent a message.
package enum PhoneNumberDefect: Error, Sendable, Hashable, CaseIterable {
    /// Not `+`, digits and visual separators, or too long to be looked at.
    case malformed
    case unknownCountryCode
    case tooShort
    case tooLong
    /// In a range that nobody is given.
    case unassigned
}

/// The world's numbering plans, as libphonenumber has them (docs/guides/phone.md says as of when).
package enum NumberingPlan {
    /// The number that `text` is, in its canonical form: without visual separators and without a trunk prefix after the
    /// country code. Takes some ten microseconds; the first call of a process some milliseconds.
    package static func judge(_ text: String) -> Result<DialableNumber, PhoneNumberDefect> {
        let digits = text.unicodeScalars.filter { !PhoneNumber.separators.contains($0) }
        guard digits.first == "+", (2...32).contains(digits.count),
            digits.dropFirst().allSatisfy({ ("0"..."9").contains($0) })
        else { return .failure(.malformed) }
        let bytes = digits.map { CChar(truncatingIfNeeded: $0.value) }
        var description = CPhoneNumberDescription()
        switch CPhoneNumberJudge(bytes, Int32(bytes.count), &description) {
        case .valid:
            let e164 = withUnsafeBytes(of: description.e164) { String(untilZero: $0) }
            let region = withUnsafeBytes(of: description.region) { String(untilZero: $0) }
            guard let number = PhoneNumber(e164) else { return .failure(.unassigned) }
            return .success(DialableNumber(number: number, region: region))
        case .unknownCountryCode: return .failure(.unknownCountryCode)
        case .tooShort: return .failure(.tooShort)
        case .tooLong: return .failure(.tooLong)
        case .unassigned: return .failure(.unassigned)
        case .noNumber, .failed: return .failure(.malformed)
        }
    }
}

extension String {
    fileprivate init(untilZero bytes: UnsafeRawBufferPointer) {
        self = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}

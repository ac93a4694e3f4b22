package import AccountLinking
import CPhoneNumber

/// An assignable number and its region.
package struct DialableNumber: Sendable, Hashable {
    package let number: PhoneNumber
    /// ISO 3166-1 alpha-2; `001` for a number without a country.
    package let region: String
}

package enum PhoneNumberDefect: Error, Sendable, Hashable, CaseIterable {
    /// Other characters than `+`, digits and visual separators, or too long.
    case malformed
    case unknownCountryCode
    case tooShort
    case tooLong
    case unassigned
}

/// The world's numbering plans, from libphonenumber (docs/guides/phone.md names its date).
package enum NumberingPlan {
    /// The canonical form: without visual separators, and without a trunk prefix after the country code. Takes about 10
    /// µs; the first call of a process takes a few ms.
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

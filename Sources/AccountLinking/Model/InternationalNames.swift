import CIDN2

/// The domain in A-labels, by IDNA2008 with the non-transitional mapping of UTS #46.
///
/// - Returns: `nil` for a name that cannot be looked up. The caller checks the result like any domain, because the
///   mapping can produce ASCII characters that are invalid in host names.
func internationalDomain(_ domain: Substring) -> String? {
    asciiLabels(String(domain), flags: IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
}

/// The inverse of `internationalDomain`; `nil` for a name that is not in A-labels.
func unicodeDomain(_ ascii: String) -> String? {
    var output: UnsafeMutablePointer<CChar>?
    guard idn2_to_unicode_8z8z(ascii, &output, 0) == IDN2_OK.rawValue, let output else { return nil }
    defer { idn2_free(output) }
    return String(cString: output)
}

/// A dot-atom in NFC and locale-independent lower case, as UTF-8; `nil` if it contains other non-ASCII characters than
/// the letters, digits and marks of IDNA2008.
///
/// libidn2 normalizes labels, and the standard library offers no normalization. So each run of letters and digits is
/// converted to a label and back. The conversion rejects invisible characters, symbols, right-to-left text that would
/// display in another order, and runs of more than 63 octets as A-label. Characters that fold into ASCII, such as the
/// Kelvin sign, are rejected too: mail to the typed form could reach another mailbox than mail to the key.
func internationalLocalPart(_ dotAtom: [UInt8]) -> [UInt8]? {
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let text = String(decoding: dotAtom, as: UTF8.self)
    for scalar in text.unicodeScalars where !scalar.isASCII {
        if scalar.properties.lowercaseMapping.utf8.contains(where: { $0 < 0x80 }) { return nil }
    }
    let bytes = Array(text.lowercased().utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
        let start = index
        while index < bytes.count, bytes[index] >= 0x80 || letters ~= bytes[index] || digits ~= bytes[index] {
            index += 1
        }
        let run = bytes[start..<index]
        if run.allSatisfy({ $0 < 0x80 }) {
            result += run
        } else {
            guard let normalised = normalisedLabel(String(decoding: run, as: UTF8.self)),
                normalised.utf8.contains(where: { $0 >= 0x80 }),
                normalised.utf8.allSatisfy({ $0 >= 0x80 || letters ~= $0 || digits ~= $0 })
            else { return nil }
            result += normalised.utf8
        }
        if index < bytes.count {
            result.append(bytes[index])
            index += 1
        }
    }
    return result
}

/// The label in NFC, by conversion to an A-label and back.
private func normalisedLabel(_ label: String) -> String? {
    guard let ascii = asciiLabels(label, flags: IDN2_NFC_INPUT.rawValue | IDN2_NO_TR46.rawValue) else { return nil }
    return unicodeDomain(ascii)
}

private func asciiLabels(_ name: String, flags: UInt32) -> String? {
    var output: UnsafeMutablePointer<UInt8>?
    let status = name.withCString(encodedAs: UTF8.self) { idn2_lookup_u8($0, &output, Int32(flags)) }
    guard status == IDN2_OK.rawValue, let output else { return nil }
    defer { idn2_free(output) }
    return String(cString: output)
}

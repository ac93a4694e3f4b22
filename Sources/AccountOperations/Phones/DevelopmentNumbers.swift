import AccountLinking

/// Phone numbers that only `concord dev` treats specially.
///
/// It accepts example numbers, which no subscriber can have and test suites use. It also stores a message for a
/// fictional number, so that its session is listed like any other; nothing is sent.
///
/// INVARIANT: only the `dev` command and tests construct it; `serve` cannot reach it.
package struct DevelopmentNumbers: Sendable {
    package init() {}

    /// The North American number in `text` with area code 555, or with 555-01 and two digits in any area; `nil` for any
    /// other.
    func example(_ text: String) -> DialableNumber? {
        guard let number = PhoneNumber(text),
            number.rawValue.wholeMatch(of: #/\+1(?:555[0-9]{7}|[0-9]{3}55501[0-9]{2})/#) != nil
        else { return nil }
        return DialableNumber(number: number, region: "US")
    }
}

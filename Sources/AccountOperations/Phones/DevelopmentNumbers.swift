import AccountLinking

/// Accepts example numbers, which no subscriber has and test suites use, and stores messages for fictional numbers, so
/// that their sessions are listed. Sends nothing.
///
/// INVARIANT: only the `dev` command and tests construct it; `serve` cannot reach it.
package struct DevelopmentNumbers: Sendable {
    package init() {}

    /// A North American number with area code 555, or with 555-01 and two digits in any area; otherwise `nil`.
    func example(_ text: String) -> DialableNumber? {
        guard let number = PhoneNumber(text),
            number.rawValue.wholeMatch(of: #/\+1(?:555[0-9]{7}|[0-9]{3}55501[0-9]{2})/#) != nil
        else { return nil }
        return DialableNumber(number: number, region: "US")
    }
}

import AccountLinking

/// Telephone numbers as `concord dev` treats them and `serve` does not.
///
/// It accepts the numbers of examples, which nobody can be given and test suites use. And it keeps a message for a
/// fictional number, so that its session is listed and shown as any other; nothing is sent from there.
///
/// INVARIANT: constructed by the `dev` command and by tests only; `serve` has no way to reach it.
package struct DevelopmentNumbers: Sendable {
    package init() {}

    /// The North American number with area code 555, or with 555-01 and two digits in any area, that `text` is; `nil` for
    /// any other.
    func example(_ text: String) -> DialableNumber? {
        guard let number = PhoneNumber(text),
            number.rawValue.wholeMatch(of: #/\+1(?:555[0-9]{7}|[0-9]{3}55501[0-9]{2})/#) != nil
        else { return nil }
        return DialableNumber(number: number, region: "US")
    }
}

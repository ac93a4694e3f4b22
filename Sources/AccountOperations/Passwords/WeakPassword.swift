/// The password rules that hold without a project policy.
package enum WeakPassword {
    /// Characters.
    package static let lengthMin = 6
    /// Characters. Longer text is refused, so that hashing time is bounded.
    package static let lengthMax = 4096

    static func applies(to password: String) -> Bool { isTooLong(password) || password.count < lengthMin }

    static func isTooLong(_ password: String) -> Bool {
        password.utf8.count > lengthMax * 4 || password.count > lengthMax
    }
}

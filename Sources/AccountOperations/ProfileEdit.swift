import AccountLinking

package enum FieldEdit: Sendable, Hashable {
    case keep
    case set(String)
    case clear

    func applied(to value: String?) -> String? {
        switch self {
        case .keep: value
        case .set(let new): new
        case .clear: nil
        }
    }
}

package struct ProfileEdit: Sendable, Hashable {
    /// At most 256 characters.
    package var displayName = FieldEdit.keep
    /// A URL for which `Profile.isPhotoURL` holds, at most 2,048 characters.
    package var photoURL = FieldEdit.keep

    package init() {}

    func applied(to profile: Profile) -> Profile {
        var profile = profile
        profile.displayName = displayName.applied(to: profile.displayName)
        profile.photoURL = photoURL.applied(to: profile.photoURL)
        return profile
    }
}

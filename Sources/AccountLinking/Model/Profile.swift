/// The profile of a person, from the account or from a provider. Absent is `nil`, never the empty string.
package struct Profile: Sendable, Hashable {
    /// Characters (Unicode scalars) of a display name, as the database bounds it.
    package static let displayNameLengthMax = 256

    /// Characters (Unicode scalars) of a picture's address, as the database bounds it.
    package static let photoURLLengthMax = 2048

    package var displayName: String?
    /// A picture's address, for which `isPhotoURL` holds.
    package var photoURL: String?
    package var screenName: String?
    package var language: String?
    package var timeZone: String?
    package var dateOfBirth: String?

    /// Returns true for `http` and `https` addresses. Apps put the picture into pages and links, where other schemes run code
    /// (`javascript:alert(1)`).
    package static func isPhotoURL(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("https://") || start.hasPrefix("http://")
    }

    package init(
        displayName: String? = nil,
        photoURL: String? = nil,
        screenName: String? = nil,
        language: String? = nil,
        timeZone: String? = nil,
        dateOfBirth: String? = nil
    ) {
        self.displayName = displayName
        self.photoURL = photoURL
        self.screenName = screenName
        self.language = language
        self.timeZone = timeZone
        self.dateOfBirth = dateOfBirth
    }

    package subscript(field: ProfileField) -> String? {
        get { self[keyPath: field.path] }
        set { self[keyPath: field.path] = newValue }
    }
}

/// A property of `Profile`. Storage, imports, merges and undo follow from this list.
///
/// The raw value stands in sealed credentials and is never renamed.
package enum ProfileField: String, Sendable, Hashable, CaseIterable {
    case displayName
    case photoURL
    case screenName
    case language
    case timeZone
    case dateOfBirth
    // The next one goes here.

    package var path: any WritableKeyPath<Profile, String?> & Sendable {
        switch self {
        case .displayName: \.displayName
        case .photoURL: \.photoURL
        case .screenName: \.screenName
        case .language: \.language
        case .timeZone: \.timeZone
        case .dateOfBirth: \.dateOfBirth
        }
    }

    /// The column of `users`.
    package var column: StaticString {
        switch self {
        case .displayName: "display_name"
        case .photoURL: "photo_url"
        case .screenName: "screen_name"
        case .language: "language"
        case .timeZone: "time_zone"
        case .dateOfBirth: "date_of_birth"
        }
    }

    /// Characters (Unicode scalars), as the database bounds them.
    package var lengthMax: Int {
        switch self {
        case .displayName, .screenName: Profile.displayNameLengthMax
        case .photoURL: Profile.photoURLLengthMax
        case .language, .timeZone, .dateOfBirth: 64
        }
    }

    /// The name on the wire and on the command line.
    package var name: String { self == .photoURL ? "photoUrl" : rawValue }

    /// The name in texts for people.
    package var words: String {
        switch self {
        case .displayName: "display name"
        case .photoURL: "picture"
        case .screenName: "screen name"
        case .language: "language"
        case .timeZone: "time zone"
        case .dateOfBirth: "date of birth"
        }
    }
}

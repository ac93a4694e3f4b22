import AccountLinking
import AccountOperations

extension RequestBody {
    /// The profile fields of an update. Web clients clear with an explicit null, iOS with the empty text, Admin SDKs with
    /// `deleteAttribute`.
    func profileEdit(deleting attributes: [String]) throws(APIError) -> ProfileEdit {
        var edit = ProfileEdit()
        edit.displayName = try fieldEdit("displayName", lengthMax: Profile.displayNameLengthMax)
        let photoURL = Self.edit(try photoURL())
        edit.photoURL = isNull("photoUrl") ? .clear : photoURL
        if attributes.contains("DISPLAY_NAME") { edit.displayName = .clear }
        if attributes.contains("PHOTO_URL") { edit.photoURL = .clear }
        return edit
    }

    /// `photoUrl`, which must be an `http` or `https` address or the empty text.
    func photoURL() throws(APIError) -> String? {
        guard let text = try string("photoUrl", lengthMax: Profile.photoURLLengthMax) else { return nil }
        guard text.isEmpty || Profile.isPhotoURL(text) else {
            throw .invalidValue(at: "photoUrl", expected: "an http or https address")
        }
        return text
    }

    private func fieldEdit(_ name: String, lengthMax: Int) throws(APIError) -> FieldEdit {
        if isNull(name) { return .clear }
        return Self.edit(try string(name, lengthMax: lengthMax))
    }

    private static func edit(_ text: String?) -> FieldEdit {
        guard let text else { return .keep }
        return text.isEmpty ? .clear : .set(text)
    }
}

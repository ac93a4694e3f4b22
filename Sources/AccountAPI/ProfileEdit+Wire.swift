import AccountLinking
import AccountOperations

extension RequestBody {
    /// The profile fields of an update. Web clients clear with an explicit null, iOS with the empty text, Admin SDKs with
    /// `deleteAttribute` (`spec/01` §1.2).
    func profileEdit(deleting attributes: [String]) throws(APIError) -> ProfileEdit {
        var edit = ProfileEdit()
        edit.displayName = try fieldEdit("displayName", lengthMax: Profile.displayNameLengthMax)
        edit.photoURL = try fieldEdit("photoUrl", lengthMax: ProfileEdit.photoURLLengthMax)
        if attributes.contains("DISPLAY_NAME") { edit.displayName = .clear }
        if attributes.contains("PHOTO_URL") { edit.photoURL = .clear }
        return edit
    }

    private func fieldEdit(_ name: String, lengthMax: Int) throws(APIError) -> FieldEdit {
        if isNull(name) { return .clear }
        guard let text = try string(name, lengthMax: lengthMax) else { return .keep }
        return text.isEmpty ? .clear : .set(text)
    }
}

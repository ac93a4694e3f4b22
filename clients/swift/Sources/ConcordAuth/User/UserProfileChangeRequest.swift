public import Foundation

/// A change of name and picture. Set the properties, then call ``commitChanges()``.
public final class UserProfileChangeRequest: Sendable {
    private struct Changes {
        var displayName: String??
        var photoURL: URL??
    }

    private let user: User
    private let changes = Locked(Changes())

    init(_ user: User) { self.user = user }

    /// The new name; `nil` removes it.
    public var displayName: String? {
        get { changes.with { $0.displayName } ?? user.displayName }
        set { changes.with { $0.displayName = .some(newValue) } }
    }

    /// The new picture; `nil` removes it.
    public var photoURL: URL? {
        get { changes.with { $0.photoURL } ?? user.photoURL }
        set { changes.with { $0.photoURL = .some(newValue) } }
    }

    /// Sends what was set. Properties that were not set stay as they are.
    public func commitChanges() async throws(AuthError) {
        let changes = changes.with { $0 }
        var body: [String: JSONValue?] = [:]
        var removed: [JSONValue] = []
        if let name = changes.displayName {
            if let name { body["displayName"] = name.json } else { removed.append("DISPLAY_NAME") }
        }
        if let url = changes.photoURL {
            if let url { body["photoUrl"] = url.absoluteString.json } else { removed.append("PHOTO_URL") }
        }
        if !removed.isEmpty { body["deleteAttribute"] = .array(removed) }
        guard !body.isEmpty else { return }
        try await user.change(body)
    }
}

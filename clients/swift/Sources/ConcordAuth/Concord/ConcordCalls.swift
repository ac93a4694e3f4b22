import Foundation

// How Concord's own routes are called: with the handle of a conflict, with a session, or without a credential.

extension Auth {
    /// The names of the session store's fields for a device, in every request that signs in.
    ///
    /// The server reads `deviceToken` only beside `returnDeviceToken`.
    func deviceMembers() throws(AuthError) -> [String: JSONValue?] {
        ["returnDeviceToken": true, "deviceToken": try keeper.read().deviceToken?.json]
    }
}

extension User {
    /// Calls a route of the account with the session's ID token.
    ///
    /// If the server says that the session is not valid, the token is refreshed once and the call repeated: this
    /// device's clock may be wrong. A session that ended is refused by the refresh, and the user signed out.
    func concord<Answer>(_ call: Call<Answer>) async throws(AuthError) -> Answered<Answer> {
        var call = call
        call.bearer = try await getIDToken()
        do {
            return try await auth.backend.send(call)
        } catch where error.serverCode == "invalid-session" {
            call.bearer = try await getIDToken(forcingRefresh: true)
            return try await auth.backend.send(call)
        }
    }
}

extension Call {
    /// A call with `If-Match`, if a version is given.
    func matching(_ version: ResourceVersion?) -> Call {
        guard let version else { return self }
        var call = self
        call.headers["If-Match"] = version.entityTag
        return call
    }

    /// A call that may be sent again: the server applies it once.
    ///
    /// - Parameter key: The same for a repetition by a later process; `nil` for this call alone.
    func once(_ key: String = Digest.random()) -> Call {
        var call = self
        call.idempotencyKey = key
        return call
    }
}

extension Answered {
    var version: ResourceVersion? { entityTag.map(ResourceVersion.init) }
}

/// Returns a path segment: an id or a method that a person or server named cannot leave its place in the path.
func segment(_ text: String) -> String {
    var allowed = CharacterSet.alphanumerics
    allowed.insert(charactersIn: "-._~")
    return text.addingPercentEncoding(withAllowedCharacters: allowed.intersection(.ascii)) ?? ""
}

extension CharacterSet {
    fileprivate static let ascii = CharacterSet(charactersIn: Unicode.Scalar(0x21)...Unicode.Scalar(0x7e))
}

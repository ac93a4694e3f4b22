import Foundation

// How Concord's own routes of an account are called.

extension User {
    /// Calls a route of the account with the session's ID token.
    ///
    /// If the server says that the session is not valid, the token is refreshed once and the call repeated: this
    /// device's clock may be wrong. A session that ended is refused by the refresh, and the user signed out.
    ///
    /// - Parameter call: The call. Its bearer is set here.
    /// - Returns: The answer.
    /// - Throws: The server's refusal; the errors of ``getIDToken(forcingRefresh:)``.
    func concord<Answer>(
        _ call: Call<Answer>
    ) async throws(AuthError) -> Answered<Answer> {
        try await withToken { (token) async throws(AuthError) in
            var call = call
            call.bearer = token
            return try await auth.backend.send(call)
        }
    }

    /// Signs out on this device, after the server ended the session.
    func forgetSession() throws(AuthError) {
        let changed = try auth.keeper.changeInMemory { state in
            if state.session?.id == sessionID { state.session = nil }
        }
        auth.publish(changed.state)
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
    /// - Parameter key: The same for a repetition by a later process; random for this call alone.
    /// - Returns: The call with the key.
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

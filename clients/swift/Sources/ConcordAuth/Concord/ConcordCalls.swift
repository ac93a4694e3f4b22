import Foundation

// How Concord's own routes of an account are called.

extension User {
    /// Calls a route of the account with the session's ID token.
    ///
    /// If the server says that the session is not valid, the token is refreshed once and the call repeated: this
    /// device's clock may be wrong. A session that ended is refused by the refresh, and the user signed out.
    ///
    /// - Parameters:
    ///   - call: The call. Its bearer is set here.
    ///   - presentsOthers: True if the call has another session's token too. A refusal then ends neither.
    /// - Returns: The answer.
    /// - Throws: The server's refusal; the errors of ``getIDToken(forcingRefresh:)``.
    func concord<Answer>(
        _ call: Call<Answer>,
        presentsOthers: Bool = false
    ) async throws(AuthError) -> Answered<Answer> {
        var call = call
        let token = try await getIDToken()
        call.bearer = token
        do {
            return try await auth.backend.send(call)
        } catch  where error.serverCode == "invalid-session" {
            let fresh = try await getIDToken(forcingRefresh: true)
            call.bearer = fresh
            do {
                return try await auth.backend.send(call)
            } catch {
                if !presentsOthers { try auth.endSession(of: self, ifInvalid: fresh, error) }
                throw error
            }
        } catch {
            if !presentsOthers { try auth.endSession(of: self, ifInvalid: token, error) }
            throw error
        }
    }

    /// Signs out on this device, after the server ended the session.
    func forgetSession() throws(AuthError) {
        let (state, _) = try auth.keeper.change { state in
            if state.session?.id == sessionID { state.session = nil }
        }
        auth.publish(state)
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

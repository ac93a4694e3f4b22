import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// The sessions of the caller's account, and how they end: Concord's own API, and the original's older one.

extension Route {
    private static let accountSessionsPath = "/concord/v1/account/sessions"

    static let accountSessions = [
        listAccountSessions, endAccountSession, endAccountSessions, sessions, signOutUser,
    ]

    /// `GET /concord/v1/account/sessions`: the sessions of the user, the refused sign-ins and the known devices.
    private static let listAccountSessions = Route(.get, accountSessionsPath, access: .anyone) { request in
        let sessions = try await request.operations
            .sessions(
                idToken: request.sessionToken(),
                tenant: request.tenant,
                after: request.sessionPlace(),
                countMax: request.sessionsMax()
            )
        return .sessions(sessions)
    }

    /// `DELETE /concord/v1/account/sessions/{id}`: ends one session. An ended session is no error.
    private static let endAccountSession = Route(
        .delete,
        accountSessionsPath + "/{session}",
        access: .anyone
    ) { request in
        let idToken = try request.sessionToken()
        guard let session = request.captures["session"].flatMap(SessionID.init) else {
            throw Problem(.malformedRequest, "The path does not name a session.")
        }
        return try await request.end(.one(session), idToken: idToken)
    }

    /// `DELETE /concord/v1/account/sessions`: ends all sessions, with every ID token; with `keepCurrent=true`, all but
    /// the caller's.
    private static let endAccountSessions = Route(.delete, accountSessionsPath, access: .anyone) { request in
        let idToken = try request.sessionToken()
        switch request.query["keepCurrent"] {
        case "true": return try await request.end(.others, idToken: idToken)
        case nil, "false": return try await request.end(.all, idToken: idToken)
        default: throw Problem(.malformedRequest, "`keepCurrent` must be true or false.")
        }
    }

    /// `GET /concord/v1/sessions?localId=`: the same list for an administrator.
    private static let sessions = Route(.get, "/concord/v1/sessions", access: .administrator) { request in
        guard let user = request.query["localId"].flatMap(UserID.init) else {
            throw Problem(.malformedRequest, "`localId` is required.")
        }
        let sessions = try await request.operations
            .sessions(
                of: user,
                tenant: request.tenant,
                after: request.sessionPlace(),
                countMax: request.sessionsMax()
            )
        guard let sessions else { throw Problem(.noSuchRoute, "The account does not exist.") }
        return .sessions(sessions)
    }

    /// `signOutUser` of the older API. An ID token ends its session; an administrator ends all sessions of an account.
    /// `instanceId` names an app, and Concord ignores it.
    private static let signOutUser = Route(
        .post,
        "/v1/accounts:signOutUser",
        legacyName: "signOutUser",
        aliases: projectPaths("accounts:signOutUser"),
        access: .client
    ) { request in
        let user: UserID
        if request.caller == .administrator {
            user = try await request.operations
                .endAllSessions(of: request.requiredLocalID(), tenant: request.tenant)
        } else {
            user = try await request.operations
                .signOut(
                    idToken: request.requiredIDToken(),
                    localID: request.body.nonEmptyString("localId"),
                    tenant: request.tenant
                )
        }
        return .object { writer in writer.field("localId", user.rawValue) }
    }
}

extension APIRequest {
    fileprivate func sessionsMax() throws(Problem) -> Int {
        guard let size = Int(query["pageSize"] ?? "50"), (1...AccountSessions.sessionsMax).contains(size) else {
            throw Problem(.malformedRequest, "`pageSize` must be a number from 1 to \(AccountSessions.sessionsMax).")
        }
        return size
    }

    fileprivate func sessionPlace() throws(Problem) -> SessionID? {
        guard let token = query["pageToken"] else { return nil }
        guard let place = SessionID(token) else {
            throw Problem(.malformedRequest, "`pageToken` is not a token of this list.")
        }
        return place
    }

    fileprivate func end(_ sessions: SessionsToEndByUser, idToken: String) async throws -> APIResponse {
        // The comparison of repeated requests does not include the query, so `keepCurrent` is added.
        try await answer(boundTo: sessions == .others ? "keepCurrent" : "", as: APIResponse.ended) { idempotent in
            try await operations.endSessions(
                sessions,
                idToken: idToken,
                change(idempotent)
            )
        }
    }
}

extension APIResponse {
    @Sendable fileprivate static func ended(_ wasThere: Bool) -> APIResponse {
        .object { writer in writer.field("ended", wasThere) }
    }

    fileprivate static func sessions(_ sessions: AccountSessions) -> APIResponse {
        .object(version: sessions.version) { writer in
            writer.sessions(sessions.sessions)
            writer.field("nextPageToken", sessions.next?.text)
            writer.field("refusedSignIns", objects: sessions.refusals) { writer, refusals in
                writer.field("reason", refusals.reason)
                writer.field("count", refusals.count)
                writer.field("firstTime", RFC3339.text(refusals.firstAt))
                writer.field("lastTime", RFC3339.text(refusals.lastAt))
            }
            writer.devices(sessions.devices)
        }
    }
}

extension JSONWriter {
    mutating func sessions(_ sessions: [AccountSessions.Session]) {
        field("sessions", objects: sessions) { writer, session in
            writer.field("sessionId", session.id.text)
            writer.field("startTime", RFC3339.text(session.startedAt))
            writer.field("lastUseTime", RFC3339.text(session.lastUsedAt))
            writer.field("signInProvider", session.signInProvider)
            writer.field("secondFactor", session.secondFactor)
            writer.field("device", session.device)
            writer.field("current", session.isCurrent)
        }
    }
}

import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// Concord's own API for what a person can read about the account, and the undo of a merge by its owner. The credential
// is the session: its ID token in the `Authorization` field.

extension Route {
    static let accountHistory: [Route] = [accountEvents, accountData, ownMerges, undoOwnMerge]

    private static let mergesPath = "/concord/v1/account/merges"

    /// `GET /concord/v1/account/events`: what happened to the account, newest first.
    private static let accountEvents = Route(.get, "/concord/v1/account/events", access: .anyone) { request in
        let idToken = try request.sessionToken()
        guard let size = Int(request.query["pageSize"] ?? "50"), (1...AccountHistory.entriesMax).contains(size) else {
            throw Problem(.malformedRequest, "`pageSize` must be a number from 1 to \(AccountHistory.entriesMax).")
        }
        let history = try await request.operations
            .history(idToken: idToken, tenant: request.tenant, after: request.query["pageToken"], countMax: size)
        guard let history else { throw Problem(.malformedRequest, "`pageToken` is not a token of this list.") }
        return .object { writer in writer.fields(of: history) }
    }

    /// `GET /concord/v1/account/export`: the data of the account.
    private static let accountData = Route(.get, "/concord/v1/account/export", access: .anyone) { request in
        let data = try await request.operations.ownData(idToken: request.sessionToken(), tenant: request.tenant)
        return .object(version: data.user.version) { writer in writer.fields(of: data) }
    }

    /// `GET /concord/v1/account/merges`: the newest merges of the account.
    private static let ownMerges = Route(.get, mergesPath, access: .anyone) { request in
        let merges = try await request.operations.merges(idToken: request.sessionToken(), tenant: request.tenant)
        return .object { writer in writer.field("merges", objects: merges) { $0.fields(of: $1) } }
    }

    /// `POST /concord/v1/account/merges/{id}:undo`: separates the accounts again, and ends their sessions.
    private static let undoOwnMerge = Route(.post, mergesPath + "/{id}:undo", access: .anyone) { request in
        let undone = try await request.operations
            .undoMerge(
                request.captures["id"] ?? "",
                idToken: request.sessionToken(),
                expectedVersion: request.expectedVersion.version(),
                tenant: request.tenant
            )
        return .object(version: undone.merge.version) { writer in writer.fields(of: undone.merge) }
    }
}

extension JSONWriter {
    fileprivate mutating func fields(of history: AccountHistory) {
        field("events", objects: history.entries) { writer, entry in
            writer.field("id", entry.id.text)
            writer.field("time", RFC3339.text(entry.occurredAt))
            writer.field("kind", entry.kind.rawValue)
            writer.field("method", entry.method?.name)
            writer.field("secondFactor", entry.secondFactor)
            writer.field("merge", entry.merge)
        }
        field("nextPageToken", history.next)
    }

    fileprivate mutating func fields(of own: OwnMerge) {
        fields(of: own.merge)
        field("canUndo", own.canUndo)
    }

    fileprivate mutating func fields(of data: OwnData) {
        field("exportTime", RFC3339.text(data.exportedAt))
        name("account")
        user(ShownAccount(data.user), passwordHash: nil, showsNumbers: false)
        methods(data.methods)
        suspendedMethods(data.suspendedMethods, as: "suspendedMethods")
        sessions(data.sessions)
        // Without the rule of the refusal, which is for operators.
        field("refusedSignIns", objects: data.refusals) { writer, refusals in
            writer.field("count", refusals.count)
            writer.field("firstTime", RFC3339.text(refusals.firstAt))
            writer.field("lastTime", RFC3339.text(refusals.lastAt))
        }
        devices(data.devices)
        field("history") { writer in writer.fields(of: data.history) }
        field("merges", objects: data.merges) { $0.fields(of: $1) }
    }
}

package import AccountLinking
package import AccountOperations
import HTTPTypes
package import JSON

// Concord's own API for merging two accounts: for administrators, with a reason, and for users with a recent session of
// each account. docs/guides/merging.md describes merges.

extension Route {
    static let merges: [Route] = [
        Route(.post, path, access: .administratorOrSession) { request in
            let choices = try request.mergeChoices()
            let isPreview = try request.body.bool("validateOnly") ?? false
            let caller = try request.mergeCaller(isPreview: isPreview)
            if isPreview {
                let preview = try await request.operations
                    .previewMerge(by: caller, choices: choices, tenant: request.tenant)
                return .object { writer in writer.fields(of: preview) }
            }
            // The surviving account stores an owner's answer.
            let credential = request.caller == .administrator ? request.bearerToken ?? "" : ""
            return try await request.answer(boundTo: credential, as: APIResponse.merge) { idempotent in
                try await request.operations.mergeAccounts(
                    by: caller,
                    choices: choices,
                    tenant: request.tenant,
                    idempotent: idempotent
                )
            }
        },
        Route(.get, path, access: .administrator) { request in
            guard let user = request.query["uid"].flatMap(UserID.init) else {
                throw Problem(.malformedRequest, "`uid` is required.")
            }
            let (merges, current) = try await request.operations.merges.merges(of: user, tenant: request.tenant)
            return .object { writer in
                writer.field("userId", current?.rawValue)
                writer.field("merges", objects: merges) { $0.fields(of: $1) }
            }
        },
        Route(.get, item, access: .administratorOrSession) { request in
            let idToken = request.caller == .administrator ? nil : try request.sessionToken()
            let merge = try await request.operations.merge(request.merge, idToken: idToken, tenant: request.tenant)
            return .merge(merge)
        },
        Route(.post, item + "/abort", access: .administrator) { request in
            let merge = try await request.operations.merges
                .withdraw(request.merge, expectedVersion: request.expectedVersion.version(), tenant: request.tenant)
            return .merge(merge)
        },
        Route(.post, item + "/undo", access: .administrator) { request in
            let keepsLaterChanges = try request.body.bool("keepLaterChanges") ?? false
            let expectedVersion = try request.expectedVersion.version()
            let merges = request.operations.merges
            if try request.body.bool("validateOnly") ?? false {
                let preview = try await merges.previewUndo(
                    request.merge,
                    keepsLaterChanges: keepsLaterChanges,
                    expectedVersion: expectedVersion,
                    tenant: request.tenant
                )
                return .object { writer in
                    writer.field("changes", array: preview.changes) { $0.laterChange($1) }
                    writer.field("isPossible", preview.isPossible)
                }
            }
            let undone = try await merges.undo(
                request.merge,
                keepsLaterChanges: keepsLaterChanges,
                expectedVersion: expectedVersion,
                tenant: request.tenant
            )
            return .merge(undone.merge) { writer in
                writer.field("kept", array: undone.kept) { $0.laterChange($1) }
            }
        },
    ]

    private static let path = "/concord/v1/merges"
    private static let item = path + "/{id}"
}

extension APIRequest {
    fileprivate var merge: String { captures["id"] ?? "" }

    fileprivate func mergeCaller(isPreview: Bool) throws -> MergeCaller {
        guard caller == .administrator else {
            return .owners(survivor: try sessionToken(), absorbed: try body.nonEmptyString("absorbedIdToken"))
        }
        guard let survivor = try body.nonEmptyString("survivor").flatMap(UserID.init),
            let absorbed = try body.nonEmptyString("absorbed").flatMap(UserID.init)
        else { throw Problem(.malformedRequest, "`survivor` and `absorbed` are required: the uids of two accounts.") }
        let reason = try body.string("reason") ?? ""
        guard isPreview || AccountMerges.isReason(reason) else {
            throw Problem(
                .malformedRequest,
                "`reason` is required: why one person owns both accounts, in at most 500 characters."
            )
        }
        return .administrator(survivor: survivor, absorbed: absorbed, reason: reason)
    }

    fileprivate func mergeChoices() throws -> [MergeField: MergeSide] {
        var choices: [MergeField: MergeSide] = [:]
        for (name, side) in try body.object("choices")?.json.object ?? [:] {
            guard let field = MergeField(name: name) else {
                throw Problem(.malformedRequest, "`choices` names an unknown field.")
            }
            guard let side = side.string.flatMap(MergeSide.init(rawValue:)) else {
                throw Problem(.malformedRequest, "Each of `choices` must be `survivor` or `absorbed`.")
            }
            choices[field] = side
        }
        return choices
    }
}

extension APIResponse {
    @Sendable fileprivate static func merge(_ merge: Merge) -> APIResponse { .merge(merge) { _ in } }

    fileprivate static func merge(_ merge: Merge, with more: (inout JSONWriter) -> Void) -> APIResponse {
        .object(version: merge.version) { writer in
            writer.fields(of: merge)
            more(&writer)
        }
    }
}

extension JSONWriter {
    package mutating func fields(of merge: Merge) {
        field("id", merge.id)
        field("state", merge.state.rawValue)
        field("survivor", merge.survivor.rawValue)
        field("absorbed", merge.absorbed.rawValue)
        field("choices") { writer in
            for (field, side) in merge.choices.sorted(by: { $0.key.name < $1.key.name }) {
                writer.field(field.name, side.rawValue)
            }
        }
        field("askedBy", merge.requestedBy.rawValue)
        field("reason", merge.reason)
        field("prepareTime", RFC3339.text(merge.preparedAt))
        field("answerUntil", RFC3339.text(merge.deadlineAt))
        field("endTime", merge.endedAt.map { RFC3339.text($0) })
        field("abortReason", merge.abortReason?.rawValue)
        field("undoUntil", merge.undoUntil.map { RFC3339.text($0) })
        field("undoTime", merge.undoneAt.map { RFC3339.text($0) })
    }

    /// - `text`: the text of a field of one account; `nil` if the account has none.
    package mutating func fields(
        of preview: MergePreview,
        text: (MergeField, UserRecord) -> String? = { field, user in user.text(of: field) }
    ) {
        field("survivor", preview.survivor.id.rawValue)
        field("absorbed", preview.absorbed.id.rawValue)
        field("fields", array: preview.plan.lines) { writer, line in
            let texts = [MergeSide.survivor: preview.survivor, .absorbed: preview.absorbed]
                .compactMapValues { text(line.field, $0) }
            writer.object { writer in
                writer.field("field", line.field.name)
                writer.field("survivor", texts[.survivor])
                writer.field("absorbed", texts[.absorbed])
                writer.field("taken", line.taken?.rawValue)
                writer.field("value", line.taken.flatMap { texts[$0] })
                writer.field("dropped", line.dropped?.rawValue)
            }
        }
        field("undecided", preview.plan.undecided.map(\.name))
        field("movedSecondFactors", Int64(preview.plan.movedFactors.count))
        field("endsSessions", preview.plan.endsSessions)
        if let waiting = preview.waiting { field("waiting") { $0.fields(of: waiting) } }
    }

    package mutating func laterChange(_ change: LaterChange) {
        object { writer in
            writer.field("field", change.part.name)
            writer.field("userId", change.user)
            writer.field("canStay", change.canStay)
        }
    }
}

public import Foundation

/// The account of a merge that a value comes from.
public enum MergeSide: String, Sendable, Hashable, Codable {
    /// The account that stays.
    case survivor
    /// The account that goes.
    case absorbed
}

/// A merge of two accounts of one person.
///
/// Source: `docs/guides/merging.md`.
public struct AccountMerge: Sendable, Hashable, Decodable, Identifiable {
    /// A merge's step.
    public enum State: String, Sendable, Hashable, Decodable {
        /// The merge waits for the receivers of webhooks.
        case prepared
        case committed, aborted, undone
        /// A state that this version of the client does not know.
        case unknown

        public init(from decoder: any Decoder) throws {
            self = State(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
        }
    }

    /// The merge's id.
    public let id: String
    /// The step.
    public let state: State
    /// The uid of the account that stays.
    public let survivor: String
    /// The uid of the account that goes.
    public let absorbed: String
    /// The account whose value was chosen, by field or provider.
    public let choices: [String: String]
    /// `administrator` or `owners`.
    public let askedBy: String
    /// The time of the request.
    public let prepareTime: Date
    /// The receivers of webhooks have to agree until then.
    public let answerUntil: Date
    /// The commit or the abort.
    public let endTime: Date?
    /// The reason of an abort: `vetoed`, `timed-out`, `accounts-changed` or `withdrawn`.
    public let abortReason: String?
    /// The end of the time for ``User/undoMerge(_:version:)``.
    public let undoUntil: Date?
    /// The undo.
    public let undoTime: Date?
    /// In ``User/merges()``: true if this user may undo the merge, unless later changes prevent it.
    public let canUndo: Bool?
}

/// The result of a merge before it happens.
public struct MergePreview: Sendable, Hashable, Decodable {
    /// A field of the merged account.
    public struct Field: Sendable, Hashable, Decodable {
        /// The field's name, or a provider id.
        public let field: String
        /// The value of the account that stays.
        public let survivor: String?
        /// The value of the account that goes.
        public let absorbed: String?
        /// The account whose value the merged account gets; `nil` if ``MergePreview/undecided`` has the field.
        public let taken: MergeSide?
        /// The value of the merged account.
        public let value: String?
        /// The account whose value is lost.
        public let dropped: MergeSide?
    }

    /// The uid of the account that stays.
    public let survivor: String
    /// The uid of the account that goes.
    public let absorbed: String
    /// The fields that one of the accounts has.
    public let fields: [Field]
    /// Fields for which the person must choose an account first.
    public let undecided: [String]
    /// Number of second factors that come over.
    public let movedSecondFactors: Int
    /// True if sessions of the account that stays end too.
    public let endsSessions: Bool
    /// A merge of one of the accounts that has not ended. Until then, no other begins.
    public let waiting: AccountMerge?
}

extension User {
    private static let mergesPath = "/concord/v1/merges"

    private struct Merges: Decodable, Sendable {
        let merges: [AccountMerge]
    }

    /// Returns the result of a merge of `other` into this account, and changes nothing.
    ///
    /// - Parameters:
    ///   - other: The account that goes: a user of another ``Auth`` with its own session store.
    ///   - choices: For each field in which both accounts differ, the account whose value stays.
    /// - Returns: The merged account, and the fields that still need a choice.
    /// - Throws: `requiresRecentLogin` if a sign-in is too old; `mergeRefused`.
    public func previewMerge(
        with other: User,
        choices: [String: MergeSide] = [:]
    ) async throws(AuthError) -> MergePreview {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            var body = try await mergeBody(other, choices)
            body["validateOnly"] = true
            var call = Call<MergePreview>.post(Self.mergesPath, body)
            call.isRepeatable = true
            return try await concord(call).value
        }
    }

    /// Merges `other` into this account. The other account's sessions end.
    ///
    /// If receivers of webhooks have to agree, the state is ``AccountMerge/State/prepared``. Read it again with
    /// ``merge(_:)``.
    ///
    /// - Throws: `requiresRecentLogin` if one of the sign-ins is too old; `choicesNeeded` or
    ///   `mergeRefused`.
    public func merge(
        with other: User,
        choices: [String: MergeSide] = [:]
    ) async throws(AuthError) -> AccountMerge {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            let call = Call<AccountMerge>.post(Self.mergesPath, try await mergeBody(other, choices)).once()
            return try await concord(call).value
        }
    }

    /// Returns a merge of this account.
    public func merge(_ id: String) async throws(AuthError) -> AccountMerge {
        try await concord(.get(Self.mergesPath + "/" + segment(id))).value
    }

    /// Returns the newest 100 merges of this account.
    public func merges() async throws(AuthError) -> [AccountMerge] {
        let answer: Merges = try await concord(.get("/concord/v1/account/merges")).value
        return answer.merges
    }

    /// Undoes a merge into this account. Every session of both accounts ends, also this one, and the user is signed out
    /// locally.
    ///
    /// - Throws: `requiresRecentLogin` if the sign-in is too old; `laterChanges` if a later change would be
    ///   overwritten, `mergeClosed` if it is too late.
    @discardableResult
    public func undoMerge(_ id: String, version: ResourceVersion? = nil) async throws(AuthError) -> AccountMerge {
        let call = Call<AccountMerge>.post("/concord/v1/account/merges/\(segment(id)):undo")
        let merge = try await concord(call.matching(version)).value
        try forgetSession()
        return merge
    }

    private func mergeBody(
        _ other: User,
        _ choices: [String: MergeSide]
    ) async throws(AuthError) -> [String: JSONValue?] {
        [
            "absorbedIdToken": try await other.getIDToken().json,
            "choices": choices.isEmpty ? nil : .object(choices.mapValues { $0.rawValue.json }),
        ]
    }
}

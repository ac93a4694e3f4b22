public import Foundation

/// A place where the user is signed in.
///
/// Source: `Session` of `docs/openapi.json`.
public struct AccountSession: Sendable, Hashable, Decodable, Identifiable {
    /// The session's id, as `concord.session` in its ID tokens.
    public let id: String
    /// The sign-in.
    public let startTime: Date
    /// The last refresh, up to a day too early.
    public let lastUseTime: Date
    /// The method of the sign-in, as `firebase.sign_in_provider` in ID tokens.
    public let signInProvider: String
    /// `phone` or `totp`; `nil` without a second factor.
    public let secondFactor: String?
    /// `User-Agent` of the sign-in.
    public let device: String?
    /// True for the session of this client.
    public let isCurrent: Bool

    private enum CodingKeys: String, CodingKey {
        case startTime, lastUseTime, signInProvider, secondFactor, device
        case id = "sessionId"
        case isCurrent = "current"
    }
}

/// Sign-ins that were refused on one day for one reason.
public struct RefusedSignIns: Sendable, Hashable, Decodable {
    /// A rule of `docs/reference/decisions.md` such as `S4`, `wrong-second-factor` or `locked-second-factor`.
    public let reason: String?
    /// Number of sign-ins.
    public let count: Int
    /// The first one.
    public let firstTime: Date
    /// The last one.
    public let lastTime: Date
}

/// A page of the list of sessions. The first page also has refused sign-ins and devices.
public struct AccountSessions: Sendable, Hashable {
    /// The sessions of this page, in no order.
    public let sessions: [AccountSession]
    /// Refused sign-ins of 90 days, the newest first.
    public let refusedSignIns: [RefusedSignIns]
    /// The devices that the account knows, the latest use first.
    public let devices: [KnownDevice]
    /// The argument for the next page; `nil` on the last one.
    public let nextPageToken: String?
    /// Hand it to the change that the person chooses after seeing this list.
    public let version: ResourceVersion?

    struct Wire: Decodable, Sendable {
        let sessions: [AccountSession]
        let refusedSignIns: [RefusedSignIns]?
        let devices: [KnownDevice]?
        let nextPageToken: String?
    }

    init(_ answer: Answered<Wire>) {
        sessions = answer.value.sessions
        refusedSignIns = answer.value.refusedSignIns ?? []
        devices = answer.value.devices ?? []
        nextPageToken = answer.value.nextPageToken
        version = answer.version
    }
}

extension User {
    private static let sessionsPath = "/concord/v1/account/sessions"

    private struct Ended: Decodable, Sendable {
        let ended: Bool
    }

    /// Returns a page of the sessions of the account.
    ///
    /// - Parameters:
    ///   - pageSize: 1 to 100.
    ///   - pageToken: ``AccountSessions/nextPageToken`` of the page before; `nil` for the first page.
    /// - Returns: The page.
    /// - Throws: `invalidArgument` for a token of another list; `userTokenExpired` if the session ended.
    public func sessions(pageSize: Int = 50, pageToken: String? = nil) async throws(AuthError) -> AccountSessions {
        AccountSessions(try await concord(.get(Self.sessionsPath, query: .page(pageSize, pageToken))))
    }

    /// Ends one session. Concord refuses its ID tokens at once; other verifiers accept them for up to an hour.
    ///
    /// - Returns: False if the session had ended before.
    @discardableResult
    public func endSession(_ id: String, version: ResourceVersion? = nil) async throws(AuthError) -> Bool {
        let call = Call<Ended>.delete(Self.sessionsPath + "/" + segment(id))
        return try await concord(call.matching(version).once()).value.ended
    }

    /// Ends all other sessions. This one continues.
    ///
    /// - Returns: False if there was no other.
    @discardableResult
    public func endOtherSessions(version: ResourceVersion? = nil) async throws(AuthError) -> Bool {
        var call = Call<Ended>.delete(Self.sessionsPath)
        call.query = [URLQueryItem(name: "keepCurrent", value: "true")]
        return try await concord(call.matching(version).once()).value.ended
    }

    /// Ends every session of the account, also this one, and signs out locally.
    public func endAllSessions(version: ResourceVersion? = nil) async throws(AuthError) {
        _ = try await concord(Call<Ended>.delete(Self.sessionsPath).matching(version).once())
        try forgetSession()
    }
}

extension [URLQueryItem] {
    /// The parameters of a list's page.
    static func page(_ size: Int, _ token: String?) -> Self {
        let size = URLQueryItem(name: "pageSize", value: String(Swift.min(Swift.max(size, 1), 100)))
        return [size] + (token.map { [URLQueryItem(name: "pageToken", value: $0)] } ?? [])
    }
}

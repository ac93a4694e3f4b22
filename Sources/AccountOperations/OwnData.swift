package import AccountLinking
import AccountStore

/// Everything that Concord stores about a person, for that person. Holds no secret, and nothing that the session cannot
/// read on other routes.
package struct OwnData: Sendable {
    package let exportedAt: Timestamp
    package let user: UserRecord
    package let methods: [AccountMethods.Method]
    package let suspendedMethods: [SuspendedMethod]
    /// At most `sessionsMax`.
    package let sessions: [AccountSessions.Session]
    package let refusals: [AccountSessions.Refusals]
    /// Without their tokens.
    package let devices: [ListedDevice]
    /// The newest `eventsMax` events. `history.next` continues the list.
    package let history: AccountHistory
    package let merges: [OwnMerge]

    package static let sessionsMax = 1000
    package static let eventsMax = 1000
}

extension AccountOperations {
    /// The data of a session's account. Up to 26 round trips.
    ///
    /// The lists are read one after another: a change meanwhile may be in some of them.
    package func ownData(idToken: String, tenant: TenantID) async throws -> OwnData {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        let user = session.user
        var sessions: [AccountSessions.Session] = []
        var (refusals, devices) = ([AccountSessions.Refusals](), [ListedDevice]())
        var place: SessionID?
        repeat {
            let page = try await self.sessions(
                of: user,
                after: place,
                countMax: AccountSessions.sessionsMax,
                current: session.token.session
            )
            sessions += page.sessions
            refusals += page.refusals
            devices += page.devices
            place = page.next
        } while place != nil && sessions.count < OwnData.sessionsMax
        return OwnData(
            exportedAt: effects.now(),
            user: user,
            methods: methods(of: user, version: user.version).methods,
            suspendedMethods: try await quarantine(of: user).methods,
            sessions: sessions,
            refusals: refusals,
            devices: devices,
            history: try await history(of: user, countMax: OwnData.eventsMax),
            merges: try await merges(of: user)
        )
    }
}

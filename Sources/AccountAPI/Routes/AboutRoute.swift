import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

/// A part of Concord's own API that a client can use only if the server has it.
///
/// Names are never renamed or reused: clients of any age compare them.
enum ServerFeature: String, CaseIterable, Sendable {
    /// `/account`, the page on which people manage their account.
    case accountPage
    /// `asksFirst` in `accounts:signInWithIdp`.
    case asksFirst
    /// The routes of the account of the session: methods, sessions, history, export.
    case account
    /// The routes of conflicts.
    case conflict
    /// Device tokens.
    case devices
    /// `receiver=fragment` of the handler page.
    case fragmentReceiver
    /// The routes of lookups.
    case lookup
    /// `loopback=PORT` of the handler page.
    case loopbackReceiver
    /// Merges by the owners of both accounts.
    case merge
    /// `receiver=opener` of the handler page.
    case openerReceiver
    /// The routes of sign-ups that wait for their mailbox.
    case pendingSignUp
    /// Methods that a takeover suspended, and their return.
    case quarantine
    /// `/signin`, and codes for the session of a page.
    case signInPage

    /// Returns true if the project offers the feature.
    func isOffered(by settings: ProjectSettings) -> Bool {
        switch self {
        case .accountPage: settings.offersAccountPage
        case .asksFirst, .account, .conflict, .devices, .fragmentReceiver, .lookup, .loopbackReceiver, .merge,
            .openerReceiver, .pendingSignUp, .quarantine, .signInPage:
            true
        }
    }
}

extension Route {
    /// `GET /concord/v1/about`: what a client can expect of this server.
    static let about = Route(.get, "/concord/v1/about", access: .anyone) { request in
        let settings = request.operations.project.settings
        return .object(maxAgeSeconds: 300) { writer in
            writer.field("version", request.serverVersion)
            writer.field("api", 1 as Int64)
            writer.field("features", ServerFeature.allCases.filter { $0.isOffered(by: settings) }.map(\.rawValue))
        }
    }
}

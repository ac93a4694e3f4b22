import AccountLinking
import AccountStore

extension AccountEvent.Kind {
    /// The event kind of a sign-in, or of a link by a session, that applies `change`.
    init(signInWith change: AccountChange) {
        let addsMethod =
            change.linkedIdentity != nil || change.password == .set || change.emailLink == true || change.setsPhone
        self = change.isTakeover ? .accountTakenOver : addsMethod ? .methodLinked : .signedIn
    }

    /// The event kind of an update that applies `change`.
    init(updateWith change: AccountChange) {
        var ending = AccountChange()
        ending.endsSessions = true
        if change.isTakeover {
            self = .accountTakenOver
        } else if change.secondFactors != nil {
            self = .secondFactorsChanged
        } else {
            self = change == ending ? .sessionsRevoked : .userUpdated
        }
    }
}

extension AccountChange {
    fileprivate var setsPhone: Bool {
        switch phone {
        case .set: true
        case .keep, .release, .remove: false
        }
    }

    /// Returns true if the owner of the address takes the account over: by a provider (I9), a link (M3), a password
    /// reset or a code (V9). Giving the address up (V8) is no takeover.
    fileprivate var isTakeover: Bool { voidsOutstandingProofs && email != .remove }
}

import AccountLinking
import AccountStore

extension AccountEvent.Kind {
    /// What a sign-in, or a link by a session, that applies `change` is called.
    init(signInWith change: AccountChange) {
        let addsMethod =
            change.linkedIdentity != nil || change.password == .set || change.emailLink == true || change.setsPhone
        self = change.isTakeover ? .accountTakenOver : addsMethod ? .methodLinked : .signedIn
    }

    /// What an update that applies `change` is called.
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

    /// True if the owner of the address comes for the first time: by a provider (I9), a link (M3), a reset or a code (V9). An
    /// account that gives the address up (V8) is not taken over.
    fileprivate var isTakeover: Bool { voidsOutstandingProofs && email != .remove }
}

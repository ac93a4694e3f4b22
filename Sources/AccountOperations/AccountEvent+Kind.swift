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

    /// Whether the owner of the address comes for the first time: by a provider (I9), a link (M3) or a reset.
    fileprivate var isTakeover: Bool { voidsOutstandingProofs }
}

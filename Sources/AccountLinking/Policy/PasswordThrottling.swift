/// The wrong passwords that one count holds.
package struct FailedAttempts: Sendable, Hashable {
    /// Since the last right one; 0 where there is nothing to forget.
    package var failures: Int
    /// True while no password is tried.
    package var isLocked: Bool

    package static let none = FailedAttempts(failures: 0, isLocked: false)

    package init(failures: Int, isLocked: Bool) {
        self.failures = failures
        self.isLocked = isLocked
    }
}

/// A client that gives a password for an address, by what the address's account knows of it.
package enum AttemptOrigin: Sendable, Hashable, CaseIterable {
    /// Shows the secret of a device on which the account was signed in to.
    case knownDevice
    /// Calls from a network from which the account was signed in to lately.
    case knownNetwork
    case stranger
}

/// A count of wrong passwords for one address.
package enum AttemptCounter: Sendable, Hashable, CaseIterable {
    /// Count of one known device.
    case device
    /// Count of one network.
    case network
    /// Count of all strangers together, from any network.
    case strangers
}

/// How often a password may be guessed (NIST SP 800-63B-4 §3.2.2): a few times freely, then with growing waits, and at
/// most a hundred times in a row.
///
/// The rule counts wrong passwords since the last right one, for one address: by network, and for all strangers together, so
/// that guesses from many networks end as well. A caller that the account knows has a count of its own, which guesses of
/// others do not move. The rule knows no account, so that an address nobody has is guarded like any other.
package enum PasswordThrottling {
    /// Where an address stands after a wrong password.
    package struct Standing: Sendable, Hashable {
        /// No password is tried before then; `neverLocked` without a wait. Not later than `forgottenAt`.
        package var lockedUntil: Timestamp
        /// Without another wrong password, counting begins anew then.
        package var forgottenAt: Timestamp
    }

    /// Wrong passwords that cost no wait: more than a person mistypes.
    package static let freeMax = 9
    /// Wrong passwords of all strangers together that cost none of them a wait. Far above `freeMax`: one guesser must not
    /// close an address to its owner on a new device.
    package static let strangersFreeMax = 49
    /// Networks of an account that are remembered.
    package static let knownNetworksMax = 8
    /// Seconds for which a network or a device is known after a sign-in.
    package static let knownSeconds: Int64 = 30 * 86_400
    /// Age, in seconds, at which a sign-in renews that memory.
    package static let knownRenewalSeconds: Int64 = 86_400
    /// Wrong passwords in a row after which none is tried any more, until the password is set anew or the address has
    /// been left alone for `longMemorySeconds`.
    package static let failuresMax = 100

    /// The end of no wait. Long over by every server's clock: by one that is behind, a lock "until now" would hold a right password off.
    package static let neverLocked = Timestamp(secondsSinceEpoch: 0)
    package static let waitSecondsMin: Int64 = 60
    package static let waitSecondsMax: Int64 = 3600
    /// How long free guesses are remembered.
    package static let shortMemorySeconds: Int64 = 86_400
    /// How long more than that is remembered.
    package static let longMemorySeconds: Int64 = 30 * 86_400

    /// The caller behind a password.
    ///
    /// - `device`: the wrong passwords of the known device whose secret was shown; `nil` where none was. A device that is
    ///   locked counts as not shown: a thief of its secret must not keep the owner's network out.
    /// - `isNetworkKnown`: the account was signed in to from the network lately.
    package static func caller(device: FailedAttempts?, isNetworkKnown: Bool) -> AttemptOrigin {
        if let device, !device.isLocked { return .knownDevice }
        return isNetworkKnown ? .knownNetwork : .stranger
    }

    /// The counts that hold `caller`: each must be open, and each counts its wrong password.
    package static func counters(throttling caller: AttemptOrigin) -> [AttemptCounter] {
        switch caller {
        case .knownDevice: [.device]
        case .knownNetwork: [.network]
        case .stranger: [.network, .strangers]
        }
    }

    /// The wrong passwords of `count` that cost no wait.
    package static func freeMax(of count: AttemptCounter) -> Int {
        switch count {
        case .device, .network: freeMax
        case .strangers: strangersFreeMax
        }
    }

    /// Where an address stands after its `failures`th wrong password in a row, at `now`. Total: below one counts as
    /// one, above `failuresMax` as `failuresMax`.
    ///
    /// `freeMax`: the wrong passwords that cost no wait.
    package static func standing(
        afterFailures failures: Int,
        at now: Timestamp,
        freeMax: Int = PasswordThrottling.freeMax
    ) -> Standing {
        guard failures > freeMax else {
            return Standing(lockedUntil: neverLocked, forgottenAt: now.adding(seconds: shortMemorySeconds))
        }
        let forgottenAt = now.adding(seconds: longMemorySeconds)
        guard failures < failuresMax else { return Standing(lockedUntil: forgottenAt, forgottenAt: forgottenAt) }
        return Standing(
            lockedUntil: now.adding(seconds: waitSeconds(afterDoublings: failures - freeMax - 1)),
            forgottenAt: forgottenAt
        )
    }

    /// One minute, then twice as long each time, up to an hour.
    private static func waitSeconds(afterDoublings doublings: Int) -> Int64 {
        // The longest wait is reached long before the shift could overflow.
        guard doublings < 16 else { return waitSecondsMax }
        return min(waitSecondsMin << Int64(doublings), waitSecondsMax)
    }
}

/// The state of one count of wrong passwords.
package struct FailedAttempts: Sendable, Hashable {
    /// Wrong passwords since the last right one; 0 if none is stored.
    package var failures: Int
    /// True while no password is checked.
    package var isLocked: Bool

    package static let none = FailedAttempts(failures: 0, isLocked: false)

    package init(failures: Int, isLocked: Bool) {
        self.failures = failures
        self.isLocked = isLocked
    }
}

/// The caller who presents a password for an address, by its history with the address's account.
package enum AttemptOrigin: Sendable, Hashable, CaseIterable {
    /// Presents the secret of a device on which the account was signed in to.
    case knownDevice
    /// Calls from a network on which the account was signed in to recently.
    case knownNetwork
    case stranger
}

/// A count of wrong passwords for one address.
package enum AttemptCounter: Sendable, Hashable, CaseIterable {
    /// Count of one known device.
    case device
    /// Count of one network.
    case network
    /// Count of all unknown callers together, from any network.
    case strangers
}

/// Limit on password guesses (NIST SP 800-63B-4 §3.2.2): a few without delay, then with growing waits, at most 100 in a
/// row.
///
/// Wrong passwords are counted since the last right one, for one address: by network, and for all unknown callers
/// together, which limits guesses from many networks. A known caller has a separate count, which guesses of others do
/// not change. The rule is independent of accounts, so addresses without an account are protected alike.
package enum PasswordThrottling {
    /// The state of an address after a wrong password.
    package struct Standing: Sendable, Hashable {
        /// No password is checked before; `neverLocked` without a wait. Not later than `forgottenAt`.
        package var lockedUntil: Timestamp
        /// Without another wrong password the count restarts at this time.
        package var forgottenAt: Timestamp
    }

    /// Wrong passwords without a wait. More than a person mistypes.
    package static let freeMax = 9
    /// Wrong passwords of all unknown callers together without a wait. Far above `freeMax`, so that one guesser cannot
    /// lock the owner's new device out.
    package static let strangersFreeMax = 49
    /// Number of networks that are stored for an account.
    package static let knownNetworksMax = 8
    /// Seconds for which a network or device stays known after a sign-in.
    package static let knownSeconds: Int64 = 30 * 86_400
    /// Age, in seconds, at which a sign-in renews that record.
    package static let knownRenewalSeconds: Int64 = 86_400
    /// Wrong passwords in a row after which none is checked, until the password is changed or no attempt was made for
    /// `longMemorySeconds`.
    package static let failuresMax = 100

    /// The end of no wait: past on every server's clock. If it were "now", a server whose clock is behind would refuse
    /// a right password.
    package static let neverLocked = Timestamp(secondsSinceEpoch: 0)
    package static let waitSecondsMin: Int64 = 60
    package static let waitSecondsMax: Int64 = 3600
    /// Seconds for which a count up to the free maximum is stored.
    package static let shortMemorySeconds: Int64 = 86_400
    /// Seconds for which a higher count is stored.
    package static let longMemorySeconds: Int64 = 30 * 86_400

    /// Classifies the caller who presents a password.
    ///
    /// - `device`: the wrong passwords of the known device whose secret was presented; `nil` for none. A locked device
    ///   counts as none, so that a thief of its secret cannot lock the owner's network out.
    /// - `isNetworkKnown`: the account was signed in to from the network recently.
    package static func caller(device: FailedAttempts?, isNetworkKnown: Bool) -> AttemptOrigin {
        if let device, !device.isLocked { return .knownDevice }
        return isNetworkKnown ? .knownNetwork : .stranger
    }

    /// The counters that apply to `caller`. All must be open, and each counters a wrong password.
    package static func counters(throttling caller: AttemptOrigin) -> [AttemptCounter] {
        switch caller {
        case .knownDevice: [.device]
        case .knownNetwork: [.network]
        case .stranger: [.network, .strangers]
        }
    }

    /// Number of wrong passwords of `count` without a wait.
    package static func freeMax(of count: AttemptCounter) -> Int {
        switch count {
        case .device, .network: freeMax
        case .strangers: strangersFreeMax
        }
    }

    /// State of an address after its `failures`th wrong password in a row, at `now`. Total: clamps `failures` to 1 and
    /// `failuresMax`.
    ///
    /// - `freeMax`: wrong passwords without a wait.
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
        // Reaches the longest wait long before the shift could overflow.
        guard doublings < 16 else { return waitSecondsMax }
        return min(waitSecondsMin << Int64(doublings), waitSecondsMax)
    }
}

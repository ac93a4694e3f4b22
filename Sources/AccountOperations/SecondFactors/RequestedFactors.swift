package import AccountLinking

/// A second factor as an administrator describes it (`mfa.enrollments`, `mfaInfo`).
package struct FactorDescription: Sendable {
    package enum Method: Sendable {
        /// As it was sent.
        case phone(String)
        /// One that its user has enrolled: its secret nobody else knows.
        case totp
    }

    /// Made here unless given.
    package var id: SecondFactorID?
    package var method: Method
    package var displayName: String?

    package init(id: SecondFactorID?, method: Method, displayName: String?) {
        self.id = id
        self.method = method
        self.displayName = displayName
    }
}

/// The second factors that an account is to have, free of what is wrong with any account.
struct RequestedFactors: Sendable {
    private let factors: [(id: SecondFactorID, method: SecondFactor.Method, displayName: String?)]

    fileprivate init(_ factors: [(id: SecondFactorID, method: SecondFactor.Method, displayName: String?)]) {
        self.factors = factors
    }

    /// The factors in place of `enrolled`; one that stays keeps when it was enrolled. `nil` where one is an app that the user
    /// has not enrolled under its name.
    func replacing(_ enrolled: [SecondFactor], at now: Timestamp) -> [SecondFactor]? {
        var wanted: [SecondFactor] = []
        for (id, method, displayName) in factors {
            let before = enrolled.first { $0.id == id }
            let new = SecondFactor(
                id: id,
                method: method,
                displayName: displayName,
                enrolledAt: before?.enrolledAt ?? now
            )
            guard new.kind == before?.kind ?? .phone else { return nil }
            wanted.append(new)
        }
        return wanted
    }
}

extension AccountOperations {
    /// The factors that an administrator describes, as far as they can be judged without the account. Of several with
    /// one number the first counts.
    func wanted(_ described: [FactorDescription]) throws(Denial) -> RequestedFactors {
        var wanted: [(id: SecondFactorID, method: SecondFactor.Method, displayName: String?)] = []
        for factor in described {
            let method: SecondFactor.Method
            switch factor.method {
            case .totp: method = .totp
            case .phone(let text):
                guard let number = PhoneNumber(text) else { throw Denial.secondFactor(.invalidPhoneNumber) }
                method = .phone(number)
            }
            if method != .totp, wanted.contains(where: { $0.method == method }) { continue }
            guard let id = factor.id ?? SecondFactorID(effects.newLocalID()) else { continue }
            guard !wanted.contains(where: { $0.id == id }) else { throw Denial.secondFactor(.duplicateID) }
            wanted.append((id, method, factor.displayName))
            // More than there may be is refused by the rules, however many more.
            if wanted.count > SecondFactor.countMax { break }
        }
        return RequestedFactors(wanted)
    }
}

package import AccountLinking

/// A factor in an administrator's request (`mfa.enrollments`, `mfaInfo`).
package struct FactorDescription: Sendable {
    package enum Method: Sendable {
        /// The text as sent.
        case phone(String)
        /// Already enrolled: only its user has the secret.
        case totp
    }

    /// Generated if `nil`.
    package var id: SecondFactorID?
    package var method: Method
    package var displayName: String?

    package init(id: SecondFactorID?, method: Method, displayName: String?) {
        self.id = id
        self.method = method
        self.displayName = displayName
    }
}

/// The factors that an administrator wants, checked as far as possible without the account.
struct RequestedFactors: Sendable {
    private let factors: [(id: SecondFactorID, method: SecondFactor.Method, displayName: String?)]

    fileprivate init(_ factors: [(id: SecondFactorID, method: SecondFactor.Method, displayName: String?)]) {
        self.factors = factors
    }

    /// A factor that stays keeps its enrollment time. `nil` if one is an app that the user has not enrolled under its
    /// id.
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
    /// Among several factors with one number the first counts.
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
            // The rules refuse more than the maximum, so the rest is not read.
            if wanted.count > SecondFactor.countMax { break }
        }
        return RequestedFactors(wanted)
    }
}

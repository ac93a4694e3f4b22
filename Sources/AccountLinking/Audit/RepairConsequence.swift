/// A consequence of repairs that an operator must see before applying a plan.
package enum RepairConsequence: Sendable, Hashable {
    case verifiedAddressLost
    case methodSuspended(SignInMethod)
    case signedOut
    case phoneNumberLost
    case codesVoided
    case identifierClaimed
    case identifierFreed
    case recordsCorrected
}

extension Repair {
    /// The consequences for the account's user, or for others. Questions, dry runs and JSON use this table.
    package var consequences: [RepairConsequence] {
        switch self {
        case .unproveAddress: [.verifiedAddressLost]
        case .suspend(let method, endsSessions: false): [.methodSuspended(method)]
        case .suspend(let method, endsSessions: true): [.methodSuspended(method), .signedOut]
        case .endSessions: [.signedOut]
        case .forgetNumber: [.phoneNumberLost]
        case .voidCodes: [.codesVoided]
        case .claim: [.identifierClaimed]
        case .release: [.identifierFreed]
        case .deleteRecords, .forgetMethod, .recordMethod, .deleteOverdue: [.recordsCorrected]
        }
    }
}

extension RepairConsequence {
    /// The method that stops working; `nil` if none does.
    package var method: SignInMethod? {
        switch self {
        case .methodSuspended(let method): method
        case .verifiedAddressLost, .signedOut, .phoneNumberLost, .codesVoided, .identifierClaimed, .identifierFreed,
            .recordsCorrected:
            nil
        }
    }

    /// True if each operation counts. Otherwise a user counts once for any number of operations.
    fileprivate var countsOperations: Bool {
        switch self {
        case .identifierFreed, .recordsCorrected: true
        case .verifiedAddressLost, .methodSuspended, .signedOut, .phoneNumberLost, .codesVoided, .identifierClaimed:
            false
        }
    }

    /// The place in a list, the most severe first.
    fileprivate var rank: Int {
        switch self {
        case .verifiedAddressLost: 0
        case .methodSuspended: 1
        case .signedOut: 2
        case .phoneNumberLost: 3
        case .codesVoided: 4
        case .identifierClaimed: 5
        case .identifierFreed: 6
        case .recordsCorrected: 7
        }
    }
}

/// Counts the consequences of operations, in the order of a plan and in constant memory.
package struct ConsequenceTally: Sendable {
    package struct Entry: Sendable, Hashable {
        package var consequence: RepairConsequence
        /// Number of users; of operations if the consequence concerns no user.
        package var count: Int64
        /// Number of users among them who get a mail.
        package var mailed: Int64

        package init(_ consequence: RepairConsequence, count: Int64, mailed: Int64 = 0) {
            self.consequence = consequence
            self.count = count
            self.mailed = mailed
        }
    }

    private struct Counted {
        var count: Int64 = 0
        var mailed: Int64 = 0
        var last: Person?
    }

    private struct Person: Equatable {
        var tenant: TenantID
        var user: UserID
    }

    private var counted: [RepairConsequence: Counted] = [:]

    package init() {}

    /// Counts an operation. A plan lists the operations of an account together, so the last user of each consequence is
    /// enough to count no user twice.
    ///
    /// - `isMailed`: true if the owner gets a mail.
    package mutating func count(_ repair: Repair, of user: UserID, in tenant: TenantID, isMailed: Bool) {
        let person = Person(tenant: tenant, user: user)
        for consequence in repair.consequences {
            var counted = counted[consequence] ?? Counted()
            guard consequence.countsOperations || counted.last != person else { continue }
            counted.count += 1
            if isMailed { counted.mailed += 1 }
            counted.last = person
            self.counted[consequence] = counted
        }
    }

    /// The most severe first.
    package var entries: [Entry] {
        counted.map { Entry($0.key, count: $0.value.count, mailed: $0.value.mailed) }
            .sorted { left, right in
                if left.consequence.rank != right.consequence.rank {
                    return left.consequence.rank < right.consequence.rank
                }
                if left.count != right.count { return left.count > right.count }
                return (left.consequence.method?.name ?? "") < (right.consequence.method?.name ?? "")
            }
    }
}

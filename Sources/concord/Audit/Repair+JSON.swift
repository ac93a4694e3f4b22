import AccountLinking
import AccountOperations
import JSON

// The form of a repair in a plan. Released names never change.

extension Repair {
    /// The name of the repair.
    var name: String {
        switch self {
        case .claim: "claim-identifier"
        case .release: "release-identifier"
        case .deleteRecords: "delete-records"
        case .forgetMethod: "forget-method"
        case .recordMethod: "record-method"
        case .unproveAddress: "unprove-address"
        case .suspend: "suspend-method"
        case .endSessions: "end-sessions"
        case .forgetNumber: "forget-number"
        case .voidCodes: "void-codes"
        case .deleteOverdue: "delete-overdue"
        }
    }

    var json: [String: JSONValue] {
        var fields: [String: JSONValue] = ["do": .string(name)]
        switch self {
        case .claim(.email): fields["kind"] = .string("email")
        case .claim(.phone): fields["kind"] = .string("phone")
        case .claim(.federated(let provider)):
            fields["kind"] = .string("federated")
            fields["provider"] = .string(provider.rawValue)
        case .release(let kind, let key):
            fields["kind"] = .string(kind)
            fields["key"] = .string(key)
        case .deleteRecords(let table): fields["table"] = .string(table.rawValue)
        case .forgetMethod(let method), .recordMethod(let method): fields["method"] = .string(method.name)
        case .suspend(let method, let endsSessions):
            fields["method"] = .string(method.name)
            fields["endSessions"] = .bool(endsSessions)
        case .unproveAddress, .endSessions, .forgetNumber: break
        case .voidCodes(let kind, let cutoff):
            fields["codes"] = .string(kind.rawValue)
            fields["madeBefore"] = .string(RFC3339.text(cutoff))
        case .deleteOverdue(let records, let cutoff):
            fields["endedBefore"] = .string(RFC3339.text(cutoff))
            switch records {
            case .codes(let kind):
                fields["records"] = .string("codes")
                fields["codes"] = .string(kind.rawValue)
            case .conflicts: fields["records"] = .string("conflicts")
            case .sessions: fields["records"] = .string("sessions")
            }
        }
        return fields
    }

    /// `nil` for any other form, also for an unknown field.
    init?(json: [String: JSONValue]) {
        func method() -> SignInMethod? { json["method"]?.string.flatMap(SignInMethod.init(name:)) }
        func codes() -> EmailCodeRecord.Kind? { json["codes"]?.string.flatMap(EmailCodeRecord.Kind.init(rawValue:)) }
        func time(_ name: String) -> Timestamp? { json[name]?.string.flatMap(RFC3339.instant) }
        let repair: Repair? =
            switch json["do"]?.string {
            case "claim-identifier"?:
                switch json["kind"]?.string {
                case "email"?: .claim(.email)
                case "phone"?: .claim(.phone)
                case "federated"?:
                    json["provider"]?.string.flatMap(ProviderID.init).map { .claim(.federated($0)) }
                default: nil
                }
            case "release-identifier"?:
                if let kind = json["kind"]?.string, let key = json["key"]?.string {
                    .release(kind: kind, key: key)
                } else {
                    nil
                }
            case "delete-records"?: json["table"]?.string.flatMap(OrphanTable.init).map { .deleteRecords($0) }
            case "forget-method"?: method().map { .forgetMethod($0) }
            case "record-method"?: method().map { .recordMethod($0) }
            case "unprove-address"?: .unproveAddress
            case "suspend-method"?:
                if let method = method(), let ends = json["endSessions"]?.bool {
                    .suspend(method, endsSessions: ends)
                } else {
                    nil
                }
            case "end-sessions"?: .endSessions
            case "forget-number"?: .forgetNumber
            case "void-codes"?:
                if let codes = codes(), let cutoff = time("madeBefore") {
                    .voidCodes(codes, madeBefore: cutoff)
                } else {
                    nil
                }
            case "delete-overdue"?:
                if let cutoff = time("endedBefore") {
                    switch json["records"]?.string {
                    case "codes"?: codes().map { .deleteOverdue(.codes($0), endedBefore: cutoff) }
                    case "conflicts"?: .deleteOverdue(.conflicts, endedBefore: cutoff)
                    case "sessions"?: .deleteOverdue(.sessions, endedBefore: cutoff)
                    default: nil
                    }
                } else {
                    nil
                }
            default: nil
            }
        guard let repair, repair.json == json else { return nil }
        self = repair
    }
}

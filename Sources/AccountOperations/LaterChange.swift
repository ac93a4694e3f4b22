package import AccountLinking
package import AccountStore

/// A change of an account after the change to undo. The undo would overwrite undo.
package struct LaterChange: Sendable, Hashable {
    package let user: String
    package let part: AccountPart
    /// True if the undo can restore everything else and leave this part.
    package private(set) var canStay: Bool

    /// The parts of accounts that `clashes` concern, without duplicates. A part can stay only if all of its clashes
    /// can.
    package static func all(_ clashes: [JournalClash]) -> [LaterChange] {
        var changes: [LaterChange] = []
        for clash in clashes {
            let change = LaterChange(user: clash.user, part: AccountPart(clash), canStay: clash.canStay)
            if let place = changes.firstIndex(where: { $0.user == change.user && $0.part == change.part }) {
                changes[place].canStay = changes[place].canStay && change.canStay
            } else {
                changes.append(change)
            }
        }
        return changes
    }
}

/// The part of an account that a later change concerns. Never contains a value.
package enum AccountPart: Sendable, Hashable {
    /// The existence of the account.
    case account
    case field(MergeField)
    case emailLink
    case initialEmail
    case unprovenPhoneNumber
    case secondFactors
    case isDisabled
    case usesCustomTokens
    case createdAt
    /// A column or table of another version.
    case other

    /// The name on the wire. Fields have the names that merges use.
    package var name: String {
        switch self {
        case .account: "account"
        case .field(let field): field.name
        case .emailLink: "emailLink"
        case .initialEmail: "initialEmail"
        case .unprovenPhoneNumber: "unprovenPhoneNumber"
        case .secondFactors: "secondFactors"
        case .isDisabled: "disabled"
        case .usesCustomTokens: "customTokens"
        case .createdAt: "createTime"
        case .other: "other"
        }
    }

    /// The name for people.
    package var words: String {
        switch self {
        case .account: "the account itself"
        case .field(.email): "e-mail address or its proof"
        case .field(.password): "password"
        case .field(.phoneNumber): "phone number"
        case .field(.profile(let field)): field.words
        case .field(.customAttributes): "custom attributes"
        case .field(.provider(let provider)): "linked provider \(provider.rawValue)"
        case .emailLink: "sign-in by mailed link"
        case .initialEmail: "first e-mail address"
        case .unprovenPhoneNumber: "unproven phone number"
        case .secondFactors: "second factor"
        case .isDisabled: "disabled state"
        case .usesCustomTokens: "use of custom tokens"
        case .createdAt: "creation time"
        case .other: "other data"
        }
    }

    init(_ clash: JournalClash) {
        let keys = clash.subject.split(separator: "\u{1F}", omittingEmptySubsequences: false).map(String.init)
        switch clash.table {
        case "users": self.init(column: clash.subject)
        case "password_credentials": self = .field(.password)
        case "second_factors": self = .secondFactors
        case "linked_providers", "sign_in_methods": self.init(method: keys.last ?? "")
        case "identifiers":
            switch keys[0] {
            case "email": self = .field(.email)
            case "phone": self = .field(.phoneNumber)
            default: self.init(method: keys.count > 1 ? keys[1] : "")
            }
        default: self = .other
        }
    }

    private init(method name: String) {
        self =
            switch SignInMethod(name: name) {
            case .password: .field(.password)
            case .emailLink: .emailLink
            case .phone: .field(.phoneNumber)
            case .provider(let provider): .field(.provider(provider))
            case nil: .other
            }
    }

    private init(column: String) {
        self =
            switch column {
            case "": .account
            case "email", "email_proof", "email_proven_at": .field(.email)
            case "initial_email": .initialEmail
            case "phone_number": .field(.phoneNumber)
            case "unproven_phone_number": .unprovenPhoneNumber
            case "disabled": .isDisabled
            case "uses_custom_tokens": .usesCustomTokens
            case "custom_attributes": .field(.customAttributes)
            case "created_at": .createdAt
            default:
                ProfileField.allCases.first { $0.column.description == column }.map { .field(.profile($0)) } ?? .other
            }
    }
}

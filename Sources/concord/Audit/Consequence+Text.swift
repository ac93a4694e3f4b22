import AccountLinking
import JSON

// Consequences of a plan, for people and for programs.

extension ConsequenceTally.Entry {
    /// `194 users can no longer sign in with their password until they reset it; each gets a mail.`
    var sentence: String {
        let one = count == 1
        let users = "\(grouped(count)) \(one ? "user" : "users")"
        return switch consequence {
        case .verifiedAddressLost: "\(users) \(one ? "loses" : "lose") their verified address."
        case .methodSuspended(let method): "\(users) can no longer sign in \(method.wayIn)\(mails)."
        case .signedOut: "\(users) \(one ? "is" : "are") signed out on every device."
        case .phoneNumberLost: "\(users) \(one ? "loses" : "lose") a phone number that cannot be used to sign in."
        case .codesVoided: "Unused links mailed to \(users) stop working."
        case .identifierClaimed:
            "\(users) \(one ? "becomes the owner" : "become the owners") of an identifier that their account shows."
        case .identifierFreed:
            "\(grouped(count)) reserved \(one ? "identifier is" : "identifiers are") free for other accounts."
        case .recordsCorrected:
            "\(grouped(count)) \(one ? "correction" : "corrections") of records, without an effect on users."
        }
    }

    /// The number of users who get a mail about a method that stops working, in words.
    private var mails: String {
        switch mailed {
        case 0: "; no mail is sent"
        case count: count == 1 ? "; they get a mail" : "; each gets a mail"
        default: "; \(grouped(mailed)) of them \(mailed == 1 ? "gets" : "get") a mail"
        }
    }

    var json: JSONValue {
        var fields: [String: JSONValue] = [
            "kind": .string(consequence.kind), "count": .integer(count), "text": .string(sentence),
        ]
        if let method = consequence.method {
            fields["method"] = .string(method.name)
            fields["mails"] = .integer(mailed)
        }
        return .object(fields)
    }
}

extension RepairConsequence {
    /// A word for programs: written once, never renamed.
    var kind: String {
        switch self {
        case .verifiedAddressLost: "verified-address-lost"
        case .methodSuspended: "method-suspended"
        case .signedOut: "signed-out"
        case .phoneNumberLost: "phone-number-lost"
        case .codesVoided: "codes-voided"
        case .identifierClaimed: "identifier-claimed"
        case .identifierFreed: "identifier-freed"
        case .recordsCorrected: "records-corrected"
        }
    }
}

extension SignInMethod {
    /// The sign-in method that stops working, and the way to restore it.
    fileprivate var wayIn: String {
        switch self {
        case .password: "with their password until they reset it"
        case .emailLink: "by mailed link until they open a new one"
        case .phone: "with their phone number until they add it again"
        case .provider(let provider): "with \(provider.rawValue) until they connect it again"
        }
    }
}

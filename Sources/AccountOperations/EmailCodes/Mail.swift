package import AccountLinking
import AccountStore
import JSON

/// A mail. The outbox holds it sealed.
package struct Mail: Sendable, Hashable {
    package enum Template: Sendable, Hashable, CaseIterable {
        case code(EmailCodeRecord.Kind)
        /// To an address's owner: another account requested the address. Without a code.
        case addressInUse
        /// To an account's owner, who approves a conflict. Names the requester.
        case conflictProof
        /// To an account's owner: the suspended methods and the reason. Without a code.
        case methodsQuarantined
        /// To an account's owner: a mail reset the password, or another mailbox undid a change. Without a code.
        case signInMethodsChanged
        /// To an account's owner. Without a code.
        case accountsMerged
        /// To an account's owner. Without a code.
        case mergeUndone
        /// To the mailbox of a sign-up: the link and the code that continue it. Names the requester's provider.
        case signUpMailbox
        /// To an account's owner, after a request that cannot reach the account: the methods that do.
        case wrongDoor

        package static let allCases =
            EmailCodeRecord.Kind.allCases.map(Self.code) + [
                .addressInUse, .conflictProof, .methodsQuarantined, .signInMethodsChanged, .accountsMerged,
                .mergeUndone, .signUpMailbox, .wrongDoor,
            ]

        package var name: String {
            switch self {
            case .code(let kind): kind.rawValue
            case .addressInUse: "ADDRESS_IN_USE"
            case .conflictProof: "CONFLICT_PROOF"
            case .methodsQuarantined: "METHODS_QUARANTINED"
            case .signInMethodsChanged: "SIGN_IN_METHODS_CHANGED"
            case .accountsMerged: "ACCOUNTS_MERGED"
            case .mergeUndone: "MERGE_UNDONE"
            case .signUpMailbox: "SIGN_UP_MAILBOX"
            case .wrongDoor: "WRONG_DOOR"
            }
        }

        init?(name: String) {
            guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = found
        }
    }

    package var template: Template
    /// The requester of access, named so that the owner approves no stranger by mistake.
    package struct Requester: Sendable, Hashable {
        package var provider: String
        /// The name from the provider.
        package var name: String?
        /// A network address.
        package var from: String?
    }

    /// Methods suspended from the reader's account.
    package struct Suspended: Sendable, Hashable {
        package var methods: [String]
        /// A `QuarantineReason`.
        package var reason: String
        /// RFC 3339.
        package var until: String
    }

    /// Changes of the reader's sign-in methods.
    package struct Changed: Sendable, Hashable {
        package var added: [String]
        package var removed: [String]
        package var replacesPassword: Bool
        /// Last digits of the added and of the removed number.
        package var addedNumberEnding: String?
        package var removedNumberEnding: String?
        /// RFC 3339.
        package var at: String
        /// RFC 3339; `nil` if the change cannot be undone.
        package var until: String?
        package var isUndone = false
    }

    /// A merge of the reader's account.
    package struct Merged: Sendable, Hashable {
        package var isByOperator: Bool
        /// RFC 3339.
        package var undoUntil: String
    }

    /// A button that leads to a sign-in method. The worker adds them when it sends the mail; they are not stored.
    package struct Way: Sendable, Hashable {
        /// Name of the method, as on the wire. A `password` that the account does not have is to be set.
        package var method: String
        package var link: String
        /// True if the link sets a password instead of asking for it.
        package var setsPassword = false
    }

    /// The recipient, in the account's spelling if there is an account.
    package var to: String
    /// The account's address, as clients see it.
    package var email: String
    package var newEmail: String?
    package var displayName: String?
    package var code: String?
    /// To type in instead of opening the link.
    package var shortCode: String?
    package var link: String?
    /// A BCP 47 tag.
    package var locale: String
    package var requester: Requester?
    package var suspended: Suspended?
    package var changed: Changed?
    package var merged: Merged?
    /// True if the owner of the merged account undid the merge.
    package var isUndoneByOwner = false
    /// Last digits of a number that became a second factor.
    package var numberEnding: String?
    /// The page of the app to return to.
    package var continueURL: String?
    /// The reason of a mail after a wrong door.
    package var door: WrongDoor?
    package var ways: [Way] = []
    /// True if a new password would suspend one of `ways`. The worker finds out.
    package var suspendsWays = false

    /// The stored length of a mail about which the worker decides is a multiple of this, so that it does not depend on
    /// the account.
    private static let resolvedBytesStep = 256

    var plaintext: [UInt8] {
        var bytes = json
        if template == .code(.lookUp) || template == .wrongDoor {
            let missing = -bytes.count & (Self.resolvedBytesStep - 1)
            bytes += [UInt8](repeating: UInt8(ascii: " "), count: missing)
        }
        return bytes
    }

    private var json: [UInt8] {
        JSONWriter.object { writer in
            writer.field("template", template.name)
            writer.field("to", to)
            writer.field("email", email)
            writer.field("newEmail", newEmail)
            writer.field("displayName", displayName)
            writer.field("oobCode", code)
            writer.field("shortCode", shortCode)
            writer.field("link", link)
            writer.field("locale", locale)
            writer.field("askingProvider", requester?.provider)
            writer.field("askingName", requester?.name)
            writer.field("askingFrom", requester?.from)
            writer.field("numberEnding", numberEnding)
            if let suspended {
                writer.field("suspendedMethods", suspended.methods)
                writer.field("suspendedReason", suspended.reason)
                writer.field("suspendedUntil", suspended.until)
            }
            if let changed {
                writer.field("addedMethods", changed.added)
                writer.field("removedMethods", changed.removed)
                writer.field("replacesPassword", changed.replacesPassword)
                writer.field("addedNumberEnding", changed.addedNumberEnding)
                writer.field("removedNumberEnding", changed.removedNumberEnding)
                writer.field("changedAt", changed.at)
                writer.field("changedUndoUntil", changed.until)
                if changed.isUndone { writer.field("changeIsUndone", true) }
            }
            writer.field("continueUrl", continueURL)
            writer.field("door", door?.rawValue)
            if suspendsWays { writer.field("suspendsWays", true) }
            if !ways.isEmpty {
                writer.field("ways", ways.map { $0.setsPassword ? Self.setPassword : $0.method })
                writer.field("wayLinks", ways.map(\.link))
            }
            if let merged {
                writer.field("mergedByOperator", merged.isByOperator)
                writer.field("mergeUndoUntil", merged.undoUntil)
            }
            if isUndoneByOwner { writer.field("mergeUndoneByOwner", true) }
        }
    }
}

extension Mail: SealedContent {
    static var kind: OutboxMessage.Kind { .mail }

    init?(plaintext: [UInt8]) {
        guard let value = try? JSONValue(parsing: plaintext),
            let template = value["template"]?.string.flatMap(Template.init(name:)),
            let to = value["to"]?.string, let email = value["email"]?.string, let locale = value["locale"]?.string
        else { return nil }
        self.init(
            template: template,
            to: to,
            email: email,
            newEmail: value["newEmail"]?.string,
            displayName: value["displayName"]?.string,
            code: value["oobCode"]?.string,
            shortCode: value["shortCode"]?.string,
            link: value["link"]?.string,
            locale: locale,
            requester: value["askingProvider"]?.string.map {
                Requester(provider: $0, name: value["askingName"]?.string, from: value["askingFrom"]?.string)
            },
            suspended: value["suspendedMethods"]?.array.flatMap { methods in
                guard let reason = value["suspendedReason"]?.string, let until = value["suspendedUntil"]?.string else {
                    return nil
                }
                return Suspended(methods: methods.compactMap(\.string), reason: reason, until: until)
            },
            changed: value["changedAt"]?.string.map {
                Changed(
                    added: value["addedMethods"]?.array?.compactMap(\.string) ?? [],
                    removed: value["removedMethods"]?.array?.compactMap(\.string) ?? [],
                    replacesPassword: value["replacesPassword"]?.bool ?? false,
                    addedNumberEnding: value["addedNumberEnding"]?.string,
                    removedNumberEnding: value["removedNumberEnding"]?.string,
                    at: $0,
                    until: value["changedUndoUntil"]?.string,
                    isUndone: value["changeIsUndone"]?.bool ?? false
                )
            },
            merged: value["mergeUndoUntil"]?.string.map {
                Merged(isByOperator: value["mergedByOperator"]?.bool ?? false, undoUntil: $0)
            },
            isUndoneByOwner: value["mergeUndoneByOwner"]?.bool ?? false,
            numberEnding: value["numberEnding"]?.string,
            continueURL: value["continueUrl"]?.string,
            door: value["door"]?.string.flatMap(WrongDoor.init(rawValue:)),
            ways: Self.ways(in: value),
            suspendsWays: value["suspendsWays"]?.bool ?? false
        )
    }
}

extension Mail {
    /// The stored name of a button that sets a password.
    private static let setPassword = "setPassword"

    private static func ways(in value: JSONValue) -> [Way] {
        let links = value["wayLinks"]?.array?.compactMap(\.string) ?? []
        return zip(value["ways"]?.array?.compactMap(\.string) ?? [], links).map { method, link in
            method == setPassword
                ? Way(method: SignInMethod.password.name, link: link, setsPassword: true)
                : Way(method: method, link: link)
        }
    }
}

extension AccountOperations {
    func mailLocale(_ asked: String?) -> String { project.settings.mailLocale(asked) }
}

extension ProjectSettings {
    /// The requested language if it is a language tag (RFC 5646 §2.1), otherwise the project's.
    func mailLocale(_ asked: String?) -> String {
        guard let asked, (2...35).contains(asked.utf8.count),
            asked.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            })
        else { return defaultLocale }
        return asked
    }
}

import AccountTestSupport
import JSON

/// The owner of an account, who remembers less than the account has.
struct Person: Sendable {
    /// A method of the person's account.
    enum Method: String, Sendable, CaseIterable {
        case password
        case emailLink
        case google = "google.com"
        /// A provider whose address is no proof.
        case github = "github.com"
        case phone

        var isProvider: Bool { self == .google || self == .github }

        /// Every set with at least one method.
        static let sets: [Set<Method>] = (1..<(1 << allCases.count)).map { bits in
            Set(allCases.enumerated().filter { bits & (1 << $0.offset) != 0 }.map(\.element))
        }
    }

    /// The device on which the person acts.
    enum Device: String, Sendable, CaseIterable {
        /// The person has signed in on it before.
        case same
        case other
        /// The person has never used it, and reads mails elsewhere: a link opens on the device with the mailbox.
        case mailElsewhere
    }

    let number: Int
    let methods: Set<Method>
    let device: Device
    /// The account's address.
    let email: String
    /// Another mailbox of the same person, without an account.
    let otherEmail: String
    /// The account's owner has proven the address.
    let isProven: Bool
    /// The token that a device got at the person's last sign-in; `nil` if the service issues none.
    var deviceToken: String?

    static let password = "password"
    static let wrongPassword = "not the password"
    static let newPassword = "a new password"

    /// - `isProven`: if no method proves the address by itself.
    init(number: Int, methods: Set<Method>, device: Device, isGmail: Bool, isProven: Bool) {
        self.number = number
        self.methods = methods
        self.device = device
        email = "person\(number)@\(isGmail ? "gmail.com" : "example.com")"
        otherEmail = "other\(number)@\(isGmail ? "gmail.com" : "example.com")"
        self.isProven = isProven || methods.contains(.emailLink) || (isGmail && methods.contains(.google))
    }

    var localID: String { "person-\(number)" }
    var phoneNumber: String { "+1650555\(String(10_000 + number).suffix(4))" }

    func identity(_ provider: Method, of address: String) -> Identity {
        Identity(provider: provider, subject: "\(provider.rawValue)-\(address)", email: address)
    }

    /// The person at a provider.
    struct Identity: Sendable {
        let provider: Method
        let subject: String
        let email: String
    }

    /// The row of `accounts:batchCreate`. Its hash is of `password`, and takes no time.
    var imported: JSONValue {
        var row: [String: JSONValue] = [
            "localId": .string(localID), "email": .string(email), "emailVerified": .bool(isProven),
        ]
        if methods.contains(.password) {
            row["passwordHash"] = "sgq3SqJUn34ToOiGy0RxzC5w/NLOgHXA7mSDq7phMvM="
            row["salt"] = "TmFDbA=="
        }
        if methods.contains(.phone) { row["phoneNumber"] = .string(phoneNumber) }
        let providers = Method.allCases.filter { $0.isProvider && methods.contains($0) }
        if !providers.isEmpty {
            row["providerUserInfo"] = .array(
                providers.map { provider in
                    [
                        "providerId": .string(provider.rawValue),
                        "rawId": .string(identity(provider, of: email).subject), "email": .string(email),
                    ]
                }
            )
        }
        return .object(row)
    }
}

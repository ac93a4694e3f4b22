/// One step: a form that a person submits, or a button that a person presses, also in a mail.
enum Action: Sendable, Hashable {
    case password(_ email: String, _ password: String)
    case askForReset(_ email: String)
    /// Opens the newest mail with a reset, and chooses a password.
    case openReset(_ email: String)
    case askForLink(_ email: String)
    /// Opens the newest mail with a sign-in link.
    case openLink(_ email: String)
    case signUp(_ email: String)
    case provider(Person.Method, _ email: String)
    case phone
    /// Asks for the sign-in methods of an address. A device with a token gets them at once.
    case lookUp(_ email: String)
    /// The same for two addresses, from the form of someone who is not sure which one the account has.
    case lookUpBoth(_ email: String, _ other: String)
    /// Asks for the sign-in methods by mail.
    case askForWays(_ email: String)
    /// Presses a button of a mail that lists sign-in methods, or types the code of that mail.
    case takeWay(WayInMail.Way, WayInMail)
    /// Continues with a provider, on the page, which creates no account before it asks. The question has the form for
    /// the address of another account: to submit it is one step, `lookUp`.
    case providerOnPage(Person.Method, _ email: String)

    /// The method that a session after this step shows to work.
    var method: Person.Method? {
        switch self {
        case .password: .password
        case .openLink: .emailLink
        case .provider(let provider, _), .providerOnPage(let provider, _): provider
        case .phone: .phone
        case .askForReset, .openReset, .askForLink, .signUp, .lookUp, .lookUpBoth, .askForWays, .takeWay: nil
        }
    }

    /// The page sets a password in this step, and signs in with it.
    var setsPassword: Bool {
        if case .takeWay(let way, _) = self { way.setsPassword } else { false }
    }
}

/// A provider's credential that the page holds until the person has entered an account.
struct WaitingProvider: Sendable, Hashable {
    let provider: Person.Method
    let email: String
    let pendingToken: String
}

/// The answer to a step, as the person sees it.
enum Reply: Sendable, Hashable {
    /// A session of the account with this id, on the device of the person.
    case entered(_ localID: String, idToken: String)
    /// A session on another device, where the person read the mail.
    case enteredElsewhere(_ localID: String)
    /// The service says that it has sent a mail.
    case mailed(_ email: String)
    /// There is no mail to open.
    case noMail(_ email: String)
    case passwordSet(_ email: String)
    /// Another account has the address, or may have it: the SDKs' `account-exists-with-different-credential`. The
    /// provider's credential waits behind the token.
    case addressTaken(_ email: String, pendingToken: String?)
    /// The page asks before it creates an account. The provider's credential waits behind the token.
    case asksFirst(pendingToken: String)
    /// A device with a token gets the methods at once.
    case ways(_ email: String, [String])
    /// `error.message`, or the type of the problem.
    case refused(String)
}

import AccountOperations
import AccountTestSupport
import JSON

@testable import AccountAPI

/// Chooses the steps that people take, in a project of its settings.
protocol Strategy: Sendable {
    static var name: String { get }
    static var settings: JSONValue { get }
    /// Devices ask for a token when someone signs in on them.
    static var asksForDeviceTokens: Bool { get }

    init(_ journey: Journey)

    /// The provider's credential that the page links as soon as the person has entered an account.
    var waiting: WaitingProvider? { get }

    /// The action at the wrong door.
    func begin() -> Action
    /// The next step; `nil` if the person stops.
    mutating func next(after reply: Reply, in world: World) async throws -> Action?
}

/// A person in front of an app with an unmodified SDK: its screens, its errors, and Concord's mails. The weights say how
/// many of ten people choose each step.
struct Today: Strategy {
    static let name = "today"
    static let settings = protectedSettings.setting(.bool(false), at: ["concord", "wrongDoor", "enabled"])
    static let asksForDeviceTokens = false

    let waiting: WaitingProvider? = nil
    private let journey: Journey
    private let person: Person
    private var random: SplitMix
    private var tried: Set<Action> = []
    private var last: Action

    init(_ journey: Journey) {
        self.journey = journey
        person = journey.person
        random = SplitMix(state: journey.seed)
        last = journey.door.action(of: journey.person)
        tried.insert(last)
    }

    func begin() -> Action { last }

    mutating func next(after reply: Reply, in world: World) async throws -> Action? {
        guard let action = choose(from: options(after: reply)) else { return nil }
        tried.insert(action)
        last = action
        return action
    }

    private func options(after reply: Reply) -> [(weight: Int, action: Action?)] {
        switch reply {
        // The app is empty. The person believes that the data is lost, or tries again.
        case .entered: [(5, nil), (5, .askForReset(person.email))]
        case .enteredElsewhere: [(8, .askForReset(person.email)), (2, nil)]
        case .mailed(let email):
            if case .askForLink = last { [(10, .openLink(email))] } else { [(10, .openReset(email))] }
        // The address has no account, and no answer says so.
        case .noMail(person.otherEmail): [(4, remembered), (4, .signUp(person.otherEmail)), (2, nil)]
        case .noMail: [(5, .signUp(person.email)), (5, nil)]
        case .passwordSet(let email): [(10, .password(email, Person.newPassword))]
        case .addressTaken(let email, pendingToken: _):
            [(4, remembered), (4, .askForReset(email))] + providers.map { (2, $0) }
        case .asksFirst, .ways: []
        case .refused:
            switch last {
            case .password(person.otherEmail, _):
                [(4, remembered), (4, .askForReset(person.otherEmail)), (2, .signUp(person.otherEmail))]
            case .signUp: [(5, remembered), (5, .askForReset(person.email))]
            default:
                [(5, .askForReset(person.email)), (2, .signUp(person.email))] + providers.map { (2, $0) }
                    + (journey.hasLinks ? [(1, .askForLink(person.email))] : [])
            }
        }
    }

    /// The password of the account, as far as the person knows it.
    private var remembered: Action {
        let knows = person.methods.contains(.password) && journey.door != .password
        return .password(person.email, knows ? Person.password : Person.wrongPassword)
    }

    private var providers: [Action] {
        Person.Method.allCases.filter { $0.isProvider && person.methods.contains($0) }
            .map { .provider($0, person.email) }
    }

    /// Chooses an action that the person has not tried; `nil` if the person stops.
    private mutating func choose(from options: [(weight: Int, action: Action?)]) -> Action? {
        let left = options.filter { option in option.action.map { !tried.contains($0) } ?? true }
        guard !left.isEmpty else { return nil }
        var rest = Int.random(in: 0..<left.reduce(0) { $0 + $1.weight }, using: &random)
        for option in left {
            if rest < option.weight { return option.action }
            rest -= option.weight
        }
        return nil
    }
}

/// A person who reads the mails that list sign-in methods, and asks for one on the page if none came. The app sends
/// people to the page for sign-in links, and for providers. After "I already have an account under another address" the
/// page links the provider to the account that the person enters.
struct TheWayIn: Strategy {
    static let name = "with lookups"
    static let settings =
        protectedSettings
        .setting("mailbox", at: ["concord", "signUp", "requires"])
        .setting("confirm", at: ["linkPolicy", "unprovenAddress"])
    static let asksForDeviceTokens = true

    private(set) var waiting: WaitingProvider?
    private let journey: Journey
    private let person: Person
    private var read: Set<WayInMail> = []
    private var asked: Set<Action> = []

    init(_ journey: Journey) {
        self.journey = journey
        person = journey.person
    }

    func begin() -> Action {
        switch journey.door.action(of: person) {
        case .provider(let provider, let email): .providerOnPage(provider, email)
        case .askForLink(let email) where journey.hasLinks: .askForWays(email)
        case let action: action
        }
    }

    mutating func next(after reply: Reply, in world: World) async throws -> Action? {
        hold(reply)
        switch reply {
        case .passwordSet(let email): return .password(email, Person.newPassword)
        case .ways(let email, let methods):
            return methods.compactMap(direct).first ?? once(.askForWays(email))
        case .entered, .asksFirst: return once(.lookUp(person.email))
        case .enteredElsewhere, .mailed, .noMail, .addressTaken, .refused: break
        }
        for email in [person.email, person.otherEmail] {
            guard let mail = try await world.wayInMail(at: email), read.insert(mail).inserted else { continue }
            if let action = mail.ways.compactMap({ direct($0.name) }).first { return action }
            let mailed = [Person.Method.emailLink.rawValue, "setPassword", Person.Method.password.rawValue]
            if let way = mailed.lazy.compactMap({ name in mail.ways.first { $0.name == name } }).first {
                return .takeWay(way, mail)
            }
            // "There is no account with this address. Try another one."
            if mail.ways.isEmpty, let action = once(.lookUp(person.email)) { return action }
        }
        // A wrong password says nothing about the address.
        if case .passwordOfOtherAddress = journey.door {
            return once(.lookUpBoth(person.otherEmail, person.email))
        }
        return once(.lookUp(person.email))
    }

    /// Holds the credential of the provider at the door, which no account has yet.
    private mutating func hold(_ reply: Reply) {
        guard waiting == nil, case .provider(let provider, let email) = journey.door.action(of: person) else { return }
        switch reply {
        case .asksFirst(let token), .addressTaken(email, pendingToken: let token?):
            waiting = WaitingProvider(provider: provider, email: email, pendingToken: token)
        case .addressTaken, .entered, .enteredElsewhere, .mailed, .noMail, .passwordSet, .ways, .refused: break
        }
    }

    /// The step to which the name of a method is enough.
    private func direct(_ name: String) -> Action? {
        guard let method = Person.Method(rawValue: name), person.methods.contains(method) else { return nil }
        return switch method {
        case .google, .github: .provider(method, person.email)
        case .phone: .phone
        case .password: journey.door == .password ? nil : .password(person.email, Person.password)
        case .emailLink: nil
        }
    }

    private mutating func once(_ action: Action) -> Action? { asked.insert(action).inserted ? action : nil }
}

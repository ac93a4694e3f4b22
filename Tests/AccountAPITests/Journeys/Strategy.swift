import AccountOperations
import AccountTestSupport
import JSON

@testable import AccountAPI

/// The way in which people act after an answer, and the project in which they do.
protocol Strategy: Sendable {
    static var name: String { get }
    static var settings: JSONValue { get }
    /// Devices ask for a token when someone signs in on them.
    static var asksForDeviceTokens: Bool { get }

    init(_ journey: Journey)

    /// The action at the wrong door.
    func begin() -> Action
    /// The next step; `nil` if the person stops.
    mutating func next(after reply: Reply, in world: World) async throws -> Action?
}

/// A person in front of an app with an unmodified SDK: its screens, its errors, and Concord's mails. The weights say how
/// many of ten people choose each step.
struct Today: Strategy {
    static let name = "today"
    static let settings = protectedSettings
    static let asksForDeviceTokens = false

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
        case .addressTaken(let email):
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

/// A person who reads the mails that list ways in, and asks for one on the page if none came.
struct TheWayIn: Strategy {
    static let name = "the way in"
    static let settings =
        protectedSettings
        .setting("mailbox", at: ["concord", "signUp", "requires"])
        .setting("confirm", at: ["linkPolicy", "unprovenAddress"])
    static let asksForDeviceTokens = true

    /// The routes that this person needs.
    private static let paths: Set = [
        "/concord/v1/lookup", "/concord/v1/lookup:prove", "/concord/v1/lookup:continue",
    ]

    /// The service has the routes. The tests of this strategy run from the day on which it has.
    static let isServed = paths.isSubset(of: API.routes.map(\.path))

    private let journey: Journey
    private let person: Person
    private var read: Set<WayInMail> = []
    private var lookedUp: Set<String> = []

    init(_ journey: Journey) {
        self.journey = journey
        person = journey.person
    }

    /// A provider's identity that has no account meets the question of the page.
    func begin() -> Action {
        switch journey.door.action(of: person) {
        case .provider(let provider, person.otherEmail): .providerOnPage(provider, person.otherEmail)
        case let action: action
        }
    }

    mutating func next(after reply: Reply, in world: World) async throws -> Action? {
        switch reply {
        case .passwordSet(let email): return .password(email, Person.newPassword)
        case .ways(let email, let methods):
            if let way = preferred(methods) {
                return action(of: WayInMail.Way(name: way, secret: nil), in: nil)
            }
            return lookUp(email)
        case .entered, .asksFirst: return lookUp(person.email)
        case .enteredElsewhere, .mailed, .noMail, .addressTaken, .refused: break
        }
        for email in [person.email, person.otherEmail] {
            guard let mail = try await world.wayInMail(of: person, at: email), read.insert(mail).inserted else {
                continue
            }
            if let name = preferred(mail.ways.map(\.name)), let way = mail.ways.first(where: { $0.name == name }),
                let action = action(of: way, in: mail)
            {
                return action
            }
            // "There is no account with this address. Try another one."
            if mail.ways.isEmpty, let action = lookUp(person.email) { return action }
        }
        if case .passwordOfOtherAddress = journey.door, let action = lookUp(person.otherEmail) { return action }
        return lookUp(person.email)
    }

    /// The way that takes the fewest steps.
    private func preferred(_ names: [String]) -> String? {
        let own: [Person.Method] = [.google, .github, .phone]
        return own.filter(person.methods.contains).map(\.rawValue).first(where: names.contains)
            ?? [Person.Method.emailLink, .password].map(\.rawValue).first(where: names.contains)
    }

    private func action(of way: WayInMail.Way, in mail: WayInMail?) -> Action? {
        if let mail { return .takeWay(way, mail) }
        return switch Person.Method(rawValue: way.name) {
        case .google: .provider(.google, person.email)
        case .github: .provider(.github, person.email)
        case .phone: .phone
        case .emailLink: .askForLink(person.email)
        case .password where journey.door != .password: .password(person.email, Person.password)
        case .password, nil: .askForReset(person.email)
        }
    }

    /// Asks for the ways in to an address once.
    private mutating func lookUp(_ email: String) -> Action? {
        lookedUp.insert(email).inserted ? .lookUp(email) : nil
    }
}

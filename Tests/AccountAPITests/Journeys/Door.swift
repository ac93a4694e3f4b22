/// The first thing that a person does, with a method or an address that is not the account's.
enum Door: String, Sendable, CaseIterable {
    /// A password that is wrong, or that the account does not have.
    case password
    /// A reset of a password that the account does not have.
    case reset
    /// A sign-in link, in a project without sign-in links.
    case link
    /// A sign-up with the address of the account.
    case signUp
    case google
    case github
    /// A password, with an address that has no account.
    case passwordOfOtherAddress
    /// A sign-in link, to an address that has no account.
    case linkToOtherAddress
    /// A provider's identity with an address that has no account.
    case googleOfOtherAddress
    case githubOfOtherAddress

    /// Returns true if the door does not lead to an account with `methods`.
    func isWrong(for methods: Set<Person.Method>) -> Bool {
        switch self {
        case .reset: !methods.contains(.password)
        case .google: !methods.contains(.google)
        case .github: !methods.contains(.github)
        case .password, .link, .signUp, .passwordOfOtherAddress, .linkToOtherAddress, .googleOfOtherAddress,
            .githubOfOtherAddress:
            true
        }
    }

    /// The project's sign-in links are on, or off; `nil` if the door is wrong in both cases.
    var needsLinks: Bool? {
        switch self {
        case .link: false
        case .linkToOtherAddress: true
        case .password, .reset, .signUp, .google, .github, .passwordOfOtherAddress, .googleOfOtherAddress,
            .githubOfOtherAddress:
            nil
        }
    }

    /// The action at the door.
    func action(of person: Person) -> Action {
        switch self {
        case .password: .password(person.email, Person.wrongPassword)
        case .reset: .askForReset(person.email)
        case .link: .askForLink(person.email)
        case .signUp: .signUp(person.email)
        case .google: .provider(.google, person.email)
        case .github: .provider(.github, person.email)
        case .passwordOfOtherAddress: .password(person.otherEmail, Person.password)
        case .linkToOtherAddress: .askForLink(person.otherEmail)
        case .googleOfOtherAddress: .provider(.google, person.otherEmail)
        case .githubOfOtherAddress: .provider(.github, person.otherEmail)
        }
    }
}

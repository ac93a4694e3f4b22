/// Names that replace personal data in stored decisions.
///
/// The rules compare addresses, numbers and subjects, and read the domain of an address. So a renamed question has the
/// same answer, with other names in it. A stored decision identifies a person only by the id of the account.
package struct Pseudonyms {
    private var addresses: [EmailAddress: EmailAddress] = [:]
    private var subjects: [String: String] = [:]
    private var numbers: [PhoneNumber: PhoneNumber] = [:]

    package init() {}

    /// `a@` and the same domain, `b@` for the next address.
    fileprivate mutating func name(for address: EmailAddress) -> EmailAddress {
        if let known = addresses[address] { return known }
        // INVARIANT: a letter with the domain of an address is an address, even with the longest domain. A question
        // names at most nine.
        let letter = Character(UnicodeScalar(UInt8(ascii: "a") + UInt8(addresses.count % 26)))
        let name = EmailAddress("\(letter)@\(address.domain)") ?? address
        addresses[address] = name
        return name
    }

    /// `s1`.
    fileprivate mutating func name(for subject: String) -> String {
        if let known = subjects[subject] { return known }
        let name = "s\(subjects.count + 1)"
        subjects[subject] = name
        return name
    }

    /// `+100000001`: an unassigned number.
    fileprivate mutating func name(for number: PhoneNumber) -> PhoneNumber {
        if let known = numbers[number] { return known }
        // INVARIANT: a plus and nine digits are a number.
        let name = PhoneNumber("+\(100_000_001 + numbers.count)") ?? number
        numbers[number] = name
        return name
    }
}

extension EmailAddress {
    mutating func rename(by names: inout Pseudonyms) { self = names.name(for: self) }
}

extension PhoneNumber {
    mutating func rename(by names: inout Pseudonyms) { self = names.name(for: self) }
}

extension ProviderIdentity {
    mutating func rename(by names: inout Pseudonyms) {
        // INVARIANT: "s" with a number is a subject.
        self = ProviderIdentity(provider: provider, subject: names.name(for: subject)) ?? self
    }
}

extension Account {
    mutating func rename(by names: inout Pseudonyms) {
        email?.address.rename(by: &names)
        phoneNumber?.rename(by: &names)
        linkedProviders = linkedProviders.mapValues { names.name(for: $0) }
    }
}

extension AddressReservation {
    mutating func rename(by names: inout Pseudonyms) { address.rename(by: &names) }
}

extension IncomingCredential {
    /// Also removes the profile, which no rule reads.
    mutating func rename(by names: inout Pseudonyms) {
        if case .present(var address, let flag, let hostedDomain) = email {
            address.rename(by: &names)
            email = .present(address, flag: flag, hostedDomain: hostedDomain)
        }
        identity.rename(by: &names)
        profile = Profile()
    }
}

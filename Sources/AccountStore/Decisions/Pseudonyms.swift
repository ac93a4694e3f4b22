import AccountLinking

/// Names that stand for what identifies people, in decisions that are kept.
///
/// The rules compare addresses, numbers and subjects and look at the domain of an address; they never read them. So a
/// question asked with other names has the same answer, with other names in it, and nothing that is kept tells whose it
/// was but the account's own id.
final class Pseudonyms {
    private var addresses: [EmailAddress: EmailAddress] = [:]
    private var subjects: [String: String] = [:]
    private var numbers: [PhoneNumber: PhoneNumber] = [:]

    /// `a@` and the same domain, `b@` for the next.
    func address(_ address: EmailAddress) -> EmailAddress {
        if let known = addresses[address] { return known }
        // INVARIANT: one letter and a domain that was part of an address are an address, the longest domain too. A
        // question names no more than six.
        let letter = Character(UnicodeScalar(UInt8(ascii: "a") + UInt8(addresses.count % 26)))
        let name = EmailAddress("\(letter)@\(address.domain)") ?? address
        addresses[address] = name
        return name
    }

    /// `s1`.
    func subject(_ subject: String) -> String {
        if let known = subjects[subject] { return known }
        let name = "s\(subjects.count + 1)"
        subjects[subject] = name
        return name
    }

    func identity(_ identity: ProviderIdentity) -> ProviderIdentity {
        // INVARIANT: "s" and a number is a subject.
        ProviderIdentity(provider: identity.provider, subject: subject(identity.subject)) ?? identity
    }

    /// `+100000001`: a number that nobody has.
    func number(_ number: PhoneNumber) -> PhoneNumber {
        if let known = numbers[number] { return known }
        // INVARIANT: nine digits after a plus are a number.
        let name = PhoneNumber("+\(100_000_001 + numbers.count)") ?? number
        numbers[number] = name
        return name
    }

    func account(_ account: Account) -> Account {
        var account = account
        if let email = account.email { account.email?.address = address(email.address) }
        account.phoneNumber = account.phoneNumber.map(number)
        account.linkedProviders = account.linkedProviders.mapValues(subject)
        return account
    }

    func accounts(_ accounts: MatchingAccounts) -> MatchingAccounts {
        MatchingAccounts(
            identityOwner: accounts.identityOwner.map(account),
            emailOwner: accounts.emailOwner.map(account)
        )
    }

    func reservation(_ reservation: AddressReservation) -> AddressReservation {
        var reservation = reservation
        reservation.address = address(reservation.address)
        return reservation
    }

    /// Without the profile, which no rule looks at.
    func credential(_ credential: IncomingCredential) -> IncomingCredential {
        var email = credential.email
        if case .present(let named, let flag, let hostedDomain) = email {
            email = .present(address(named), flag: flag, hostedDomain: hostedDomain)
        }
        return IncomingCredential(
            identity: identity(credential.identity),
            issuer: credential.issuer,
            email: email,
            profile: Profile()
        )
    }
}

extension Question {
    /// The same question about the same people under other names.
    func renamed(by names: Pseudonyms) -> Question {
        switch self {
        case .signIn(let question): .signIn(question.renamed(by: names))
        case .update(let question): .update(question.renamed(by: names))
        case .resolution(let question): .resolution(question.renamed(by: names))
        }
    }
}

extension SignInQuestion {
    fileprivate func renamed(by names: Pseudonyms) -> SignInQuestion {
        switch self {
        case .idp(let accounts, let credential, let isProviderEnabled, let createsUsers, let prover):
            .idp(
                accounts: names.accounts(accounts),
                credential: names.credential(credential),
                isProviderEnabled: isProviderEnabled,
                createsUsers: createsUsers,
                secondFactorProvenBy: prover
            )
        case .linkIdp(let target, let accounts, let credential, let isProviderEnabled, let prover, let request):
            .linkIdp(
                target: names.account(target),
                accounts: names.accounts(accounts),
                credential: names.credential(credential),
                isProviderEnabled: isProviderEnabled,
                secondFactorProvenBy: prover,
                request: request
            )
        case .emailLink(let email, let owner, let target, let isSessionRecent, let prover):
            .emailLink(
                email: names.address(email),
                owner: owner.map(names.account),
                target: target.map(names.account),
                isSessionRecent: isSessionRecent,
                secondFactorProvenBy: prover
            )
        case .phone(let number, let owner, let target, let operation, let proof, let isSessionRecent):
            .phone(
                number: names.number(number),
                owner: owner.map(names.account),
                target: target.map(names.account),
                operation: operation,
                shownBy: proof,
                isSessionRecent: isSessionRecent
            )
        case .password(let owner, let isLocked, let passwordMatches, let prover):
            .password(
                owner: owner.map(names.account),
                isLocked: isLocked,
                passwordMatches: passwordMatches,
                secondFactorProvenBy: prover
            )
        case .signUp(let request, let emailOwner, let displayName):
            .signUp(
                request.renamed(by: names),
                emailOwner: emailOwner.map(names.account),
                displayName: displayName.map { _ in "name" }
            )
        case .customToken(let existing, let isMergedAway):
            .customToken(existing: existing.map(names.account), isMergedAway: isMergedAway)
        case .reserved(let question, let reservation):
            question.renamed(by: names).respecting(names.reservation(reservation))
        }
    }
}

extension SignUpRequest {
    fileprivate func renamed(by names: Pseudonyms) -> SignUpRequest {
        switch self {
        case .anonymous: .anonymous
        case .password(let email): .password(names.address(email))
        case .linkPassword(let email, let target, let isSessionRecent):
            .linkPassword(names.address(email), to: names.account(target), isSessionRecent: isSessionRecent)
        }
    }
}

extension UpdateQuestion {
    fileprivate func renamed(by names: Pseudonyms) -> UpdateQuestion {
        switch self {
        case .unlink(let account, let enabledProviders, let removal, let request):
            .unlink(
                account: names.account(account),
                enabledProviders: enabledProviders,
                removal: removal,
                request: request
            )
        case .removeMethod(let account, let enabledProviders, let method, let isSessionRecent):
            .removeMethod(
                account: names.account(account),
                enabledProviders: enabledProviders,
                method: method,
                isSessionRecent: isSessionRecent
            )
        case .restorePassword(let account, let isQuarantined, let isSessionRecent, let isLocked, let passwordMatches):
            .restorePassword(
                account: names.account(account),
                isQuarantined: isQuarantined,
                isSessionRecent: isSessionRecent,
                isLocked: isLocked,
                passwordMatches: passwordMatches
            )
        case .resetPassword(let account, let address):
            .resetPassword(account: account.map(names.account), address: names.address(address))
        case .verifyEmail(let account, let address, let answer):
            .verifyEmail(account: account.map(names.account), address: names.address(address), answer: answer)
        case .updateByAdmin(let account, let update, let emailOwner, let phoneOwner, let identityOwner):
            .updateByAdmin(
                account: account.map(names.account),
                update: update.renamed(by: names),
                emailOwner: emailOwner.map(names.account),
                phoneOwner: phoneOwner.map(names.account),
                identityOwner: identityOwner.map(names.account)
            )
        }
    }
}

extension AdminUpdate {
    fileprivate func renamed(by names: Pseudonyms) -> AdminUpdate {
        var update = self
        update.email = email.map(names.address)
        update.phoneNumber = phoneNumber.map(names.number)
        update.identity = identity.map(names.identity)
        return update
    }
}

extension ResolutionQuestion {
    fileprivate func renamed(by names: Pseudonyms) -> ResolutionQuestion {
        var question = self
        question.target = target.map(names.account)
        question.credential = names.credential(credential)
        question.reservation = reservation.map(names.reservation)
        if let address = conflict.proof?.binding.address {
            question.conflict.proof?.binding.address = names.address(address)
        }
        return question
    }
}

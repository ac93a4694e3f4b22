// The stored form of facts in questions. Names are never changed, because old decisions are asked again.

/// A value that is stored as one string.
protocol StoredAsText: Codable {
    var storedText: String { get }
    static func read(_ storedText: String) -> Self?
}

extension StoredAsText {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self.read(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no \(Self.self)")
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(storedText)
    }
}

extension StoredAsText where Self: CheckedText {
    var storedText: String { rawValue }
    static func read(_ storedText: String) -> Self? { Self(storedText) }
}

extension UserID: StoredAsText {}
extension TenantID: StoredAsText {}
extension ProviderID: StoredAsText {}
extension PhoneNumber: StoredAsText {}

extension EmailAddress: StoredAsText {
    var storedText: String { canonical }
    static func read(_ storedText: String) -> Self? { Self(storedText) }
}

extension EmailProof: StoredAsText {
    var storedText: String { name }
    static func read(_ storedText: String) -> Self? { Self(name: storedText) }
}

extension SignInMethod: StoredAsText {
    var storedText: String { name }
    static func read(_ storedText: String) -> Self? { Self(name: storedText) }
}

extension PhoneOperation: Codable {}
extension PhoneProof: Codable {}
extension ProvingSession: Codable {}
extension ConflictFacts.State: Codable {}
extension ConflictProofKind: Codable {}
extension ConflictKind: Codable {}

extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(microsecondsSinceEpoch: try decoder.singleValueContainer().decode(Int64.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(microsecondsSinceEpoch)
    }
}

extension KeyedEncodingContainer {
    /// Writes a set in the order of its providers.
    mutating func encode(_ providers: Set<ProviderID>, forKey key: Key) throws {
        try encode(providers.sorted(), forKey: key)
    }
}

extension Account: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, version, sessionEpoch, disabled, email, emailProof, initialEmail, password, emailLink, phone
        case providers, issuers, secondFactor, customTokens
    }

    package init(from decoder: any Decoder) throws {
        let facts = try decoder.container(keyedBy: CodingKeys.self)
        let issuers = try facts.decodeIfPresent([String: String].self, forKey: .issuers) ?? [:]
        let subjects = try facts.decodeIfPresent([String: String].self, forKey: .providers) ?? [:]
        let linked = try subjects.map { name, subject in
            guard let identity = ProviderID(name).flatMap({ ProviderIdentity(provider: $0, subject: subject) }) else {
                throw DecodingError.dataCorruptedError(forKey: .providers, in: facts, debugDescription: "no identity")
            }
            return (identity: identity, issuer: issuers[name])
        }
        let proof = try facts.decodeIfPresent(EmailProof.self, forKey: .emailProof)
        self.init(
            id: try facts.decode(UserID.self, forKey: .id),
            version: try facts.decode(Int64.self, forKey: .version),
            sessionEpoch: try facts.decode(Int64.self, forKey: .sessionEpoch),
            isDisabled: try facts.decode(Bool.self, forKey: .disabled),
            email: try facts.decodeIfPresent(EmailAddress.self, forKey: .email)
                .map { AccountEmail(address: $0, proof: proof) },
            hasInitialEmail: try facts.decode(Bool.self, forKey: .initialEmail),
            hasPassword: try facts.decode(Bool.self, forKey: .password),
            hasEmailLink: try facts.decode(Bool.self, forKey: .emailLink),
            phoneNumber: try facts.decodeIfPresent(PhoneNumber.self, forKey: .phone),
            linkedProviders: LinkedSubjects(linked),
            hasSecondFactor: try facts.decode(Bool.self, forKey: .secondFactor),
            usesCustomTokens: try facts.decode(Bool.self, forKey: .customTokens)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var facts = encoder.container(keyedBy: CodingKeys.self)
        try facts.encode(id, forKey: .id)
        try facts.encode(version, forKey: .version)
        try facts.encode(sessionEpoch, forKey: .sessionEpoch)
        try facts.encode(isDisabled, forKey: .disabled)
        try facts.encodeIfPresent(email?.address, forKey: .email)
        try facts.encodeIfPresent(email?.proof, forKey: .emailProof)
        try facts.encode(hasInitialEmail, forKey: .initialEmail)
        try facts.encode(hasPassword, forKey: .password)
        try facts.encode(hasEmailLink, forKey: .emailLink)
        try facts.encodeIfPresent(phoneNumber, forKey: .phone)
        if !linkedProviders.isEmpty {
            var (subjects, issuers) = ([String: String](), [String: String]())
            for (provider, subject) in linkedProviders {
                subjects[provider.rawValue] = subject
                issuers[provider.rawValue] = linkedProviders.issuer(of: provider)
            }
            try facts.encode(subjects, forKey: .providers)
            if !issuers.isEmpty { try facts.encode(issuers, forKey: .issuers) }
        }
        try facts.encode(hasSecondFactor, forKey: .secondFactor)
        try facts.encode(usesCustomTokens, forKey: .customTokens)
    }
}

extension ProviderIdentity: Codable {
    private enum CodingKeys: String, CodingKey {
        case provider, subject
    }

    package init(from decoder: any Decoder) throws {
        let facts = try decoder.container(keyedBy: CodingKeys.self)
        let provider = try facts.decode(ProviderID.self, forKey: .provider)
        let subject = try facts.decode(String.self, forKey: .subject)
        guard let identity = ProviderIdentity(provider: provider, subject: subject) else {
            throw DecodingError.dataCorruptedError(forKey: .subject, in: facts, debugDescription: "no subject")
        }
        self = identity
    }

    package func encode(to encoder: any Encoder) throws {
        var facts = encoder.container(keyedBy: CodingKeys.self)
        try facts.encode(provider, forKey: .provider)
        try facts.encode(subject, forKey: .subject)
    }
}

/// Stored without the profile, which no rule reads.
extension IncomingCredential: Codable {
    private enum CodingKeys: String, CodingKey {
        case issuer, email, flaggedVerified, hostedDomain
    }

    package init(from decoder: any Decoder) throws {
        let facts = try decoder.container(keyedBy: CodingKeys.self)
        var email = EmailAssertion.absent
        if let address = try facts.decodeIfPresent(EmailAddress.self, forKey: .email) {
            email = .present(
                address,
                flag: VerifiedFlag(try facts.decodeIfPresent(Bool.self, forKey: .flaggedVerified)),
                hostedDomain: try facts.decodeIfPresent(String.self, forKey: .hostedDomain)
            )
        }
        self.init(
            identity: try ProviderIdentity(from: decoder),
            issuer: try facts.decodeIfPresent(String.self, forKey: .issuer),
            email: email,
            profile: Profile()
        )
    }

    package func encode(to encoder: any Encoder) throws {
        try identity.encode(to: encoder)
        var facts = encoder.container(keyedBy: CodingKeys.self)
        try facts.encodeIfPresent(issuer, forKey: .issuer)
        guard case .present(let address, let flag, let hostedDomain) = email else { return }
        try facts.encode(address, forKey: .email)
        try facts.encodeIfPresent(flag.value, forKey: .flaggedVerified)
        try facts.encodeIfPresent(hostedDomain, forKey: .hostedDomain)
    }
}

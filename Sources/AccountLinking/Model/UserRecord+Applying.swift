/// Values from outside the core, made once and the same on every attempt to apply a change.
package struct ChangeContext: Sendable {
    package var now: Timestamp
    /// Proof of a password or number that the change sets.
    package var methodProof: UserRecord.Proof
    /// The row of the identity that the change links, as the provider described it.
    package var linkedProvider: UserRecord.LinkedProvider?

    package init(now: Timestamp, methodProof: UserRecord.Proof, linkedProvider: UserRecord.LinkedProvider? = nil) {
        self.now = now
        self.methodProof = methodProof
        self.linkedProvider = linkedProvider
    }
}

extension UserRecord {
    /// The record after `change`. Each step changes its own fields, so their order does not matter, with one exception:
    /// unlinking precedes linking, so that a change can replace the identity of a provider.
    package func applying(_ change: AccountChange, _ context: ChangeContext) -> UserRecord {
        var record = self
        let now = context.now

        switch change.email {
        case .keep: break
        case .set(let address, let proof):
            record.email = AccountEmail(address: address, proof: proof)
            record.emailProvenAt = proof == nil ? nil : now
        case .prove(let proof):
            record.email?.proof = proof
            record.emailProvenAt = record.email == nil ? nil : now
        case .unprove:
            record.email?.proof = nil
            record.emailProvenAt = nil
        case .remove:
            record.email = nil
            record.emailProvenAt = nil
        }
        if change.voidsOutstandingProofs { record.initialEmail = nil }
        if record.initialEmail == nil { record.initialEmail = change.rememberedInitialEmail?.raw }

        switch change.password {
        case .keep: break
        case .set:
            record.passwordUpdatedAt = now
            record.methodProofs[.password] = MethodProof(proof: context.methodProof, provenAt: now)
        case .remove:
            record.passwordUpdatedAt = nil
            record.methodProofs[.password] = nil
        }

        if let emailLink = change.emailLink {
            record.methodProofs[.emailLink] = emailLink ? MethodProof(proof: .message, provenAt: now) : nil
        }

        switch change.phone {
        case .keep: break
        case .set(let number):
            record.phoneNumber = number
            record.unprovenPhoneNumber = nil
            record.methodProofs[.phone] = MethodProof(proof: context.methodProof, provenAt: now)
        case .release:
            record.unprovenPhoneNumber = record.phoneNumber ?? record.unprovenPhoneNumber
            record.phoneNumber = nil
            record.methodProofs[.phone] = nil
        case .remove:
            record.phoneNumber = nil
            record.unprovenPhoneNumber = nil
            record.methodProofs[.phone] = nil
        }

        for provider in change.unlinkedProviders {
            record.linkedProviders[provider] = nil
            record.methodProofs[.provider(provider)] = nil
        }
        if let identity = change.linkedIdentity {
            let row =
                context.linkedProvider
                ?? LinkedProvider(
                    identity: identity,
                    issuer: nil,
                    email: nil,
                    displayName: nil,
                    photoURL: nil,
                    screenName: nil,
                    linkedAt: now,
                    updatedAt: now
                )
            record.linkedProviders[identity.provider] = row
            record.methodProofs[.provider(identity.provider)] = MethodProof(proof: context.methodProof, provenAt: now)
        }

        switch change.profile {
        case .keep: break
        case .fillBlanks(let profile): record.profile.fillBlanks(from: profile)
        case .replace(let profile): record.profile = profile
        case .rename(let name): record.profile.displayName = name
        }
        record.secondFactors = change.secondFactors ?? record.secondFactors
        record.isDisabled = change.isDisabled ?? record.isDisabled
        record.usesCustomTokens = change.usesCustomTokens ?? record.usesCustomTokens
        if change.endsSessions { record.endSessions(at: now) }
        return record
    }

    /// Stores a linked identity's current data from its provider, if it differs. The account's own profile and address
    /// stay (I2).
    package mutating func refreshProfile(of described: LinkedProvider) {
        let provider = described.identity.provider
        guard var linked = linkedProviders[provider], linked.identity == described.identity else { return }
        linked.issuer = described.issuer
        linked.email = described.email
        // Apple sends the name on first consent only.
        linked.displayName = described.displayName ?? linked.displayName
        linked.photoURL = described.photoURL ?? linked.photoURL
        linked.screenName = described.screenName ?? linked.screenName
        guard linked != linkedProviders[provider] else { return }
        linked.updatedAt = described.updatedAt
        linkedProviders[provider] = linked
    }

    /// Ends every session: raises the epoch and moves `validSince` to the current second, never backwards.
    package mutating func endSessions(at now: Timestamp) {
        sessionEpoch += 1
        validSince = max(validSince, Timestamp(secondsSinceEpoch: now.secondsSinceEpoch))
    }
}

extension Profile {
    fileprivate mutating func fillBlanks(from other: Profile) {
        for field in ProfileField.allCases { self[field] = self[field] ?? other[field] }
    }
}

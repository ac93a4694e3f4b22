extension LinkPolicy {
    /// The linked providers of `account` that identify its owner by another subject than `credential` does: the
    /// credential's provider, and those of the same party (`SubjectAuthority`). Empty for a first link, and for the
    /// same subject under another provider id.
    ///
    /// If policy lets a new subject replace the old one without a conflict (`SubjectChange.replace`, `.move`), only the
    /// provider's own id counts, as in production.
    package func providersOfAnotherSubject(
        of account: Account,
        than credential: IncomingCredential
    ) -> Set<ProviderID> {
        let identity = credential.identity
        let authority = identity.provider.authority(issuer: credential.issuer)
        let comparesParties =
            switch subjectChange {
            case .conflict, .takeover: true
            case .replace, .move: false
            }
        var others: Set<ProviderID> = []
        for (provider, subject) in account.linkedProviders {
            if provider == identity.provider {
                others.insert(provider)
            } else if comparesParties, subject != identity.subject,
                provider.authority(issuer: issuer(of: provider, in: account)) == authority
            {
                others.insert(provider)
            }
        }
        return others
    }

    /// Returns true if the owner of the account's address is known. Such a proof prevails over a later mail to the
    /// address, and over a trusted provider.
    ///
    /// A word for new addresses (`EmailTrustClass.verifyingNew`) is no such proof: the provider verified the address
    /// once, with the person who held it then. The word opens an account, but does not exclude the present holder.
    package func isProven(_ account: Account) -> Bool {
        guard let email = account.email, let proof = email.proof else { return false }
        guard case .provider(let provider) = proof else { return true }
        let trust = emailTrust.trust(
            of: provider,
            issuer: issuer(of: provider, in: account),
            for: email.address,
            // Google's `hd` is not stored. As in audits, assume that it was the domain of the address.
            hostedDomain: String(email.address.domain)
        )
        return trust != .verifyingNew
    }

    /// The issuer that linked `provider` to `account`; the registered one if the link has none.
    private func issuer(of provider: ProviderID, in account: Account) -> String? {
        account.linkedProviders.issuer(of: provider) ?? registeredIssuers[provider]
    }

    /// Returns true if `claim` proves the account's own address, which is not proven yet. `proof`: the proof to record.
    func needsProof(_ account: Account, of claim: EmailClaim, by proof: EmailProof) -> Bool {
        guard let email = account.email, claim == .verified(email.address), email.proof != proof else { return false }
        return !isProven(account)
    }
}

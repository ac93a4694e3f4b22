extension LinkPolicy {
    /// The linked providers of `account` that know its owner under another subject than the one of `credential`: the one that it
    /// is of, and with it each that is the same party under another id (`SubjectAuthority`). Empty for a newcomer, and for the
    /// same person under another id.
    ///
    /// If a new subject takes the old one's place without a question (`SubjectChange.replace`, `.move`), only the provider's own
    /// id counts, as in production.
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

    /// Returns true if the owner of the address of `account` is known: its proof counts against the mailbox, and against a
    /// provider whose word is proof.
    ///
    /// A provider whose word counts for new addresses alone (`EmailTrustClass.verifyingNew`) verified the address once, for
    /// the person who held it then. That opens an account, and keeps nobody out who holds the address now.
    package func isProven(_ account: Account) -> Bool {
        guard let email = account.email, let proof = email.proof else { return false }
        guard case .provider(let provider) = proof else { return true }
        let trust = emailTrust.trust(
            of: provider,
            issuer: issuer(of: provider, in: account),
            for: email.address,
            // What Google hosts for a domain is not kept: as in audits, whoever has an address of it may have been its user.
            hostedDomain: String(email.address.domain)
        )
        return trust != .verifyingNew
    }

    /// The issuer whose word linked `provider` to `account`; the registered one if the account does not know it.
    private func issuer(of provider: ProviderID, in account: Account) -> String? {
        account.linkedProviders.issuer(of: provider) ?? registeredIssuers[provider]
    }

    /// Returns true if `claim` proves the account's own address, which so far is not proven. `proof`: what it would be proven by.
    func needsProof(_ account: Account, of claim: EmailClaim, by proof: EmailProof) -> Bool {
        guard let email = account.email, claim == .verified(email.address), email.proof != proof else { return false }
        return !isProven(account)
    }
}

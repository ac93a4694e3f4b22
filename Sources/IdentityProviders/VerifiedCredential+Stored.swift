import AccountLinking
package import JSON

// The verified credential of a conflict is sealed as JSON. Reading it back needs no second verification, because the
// seal proves that Concord wrote it.

extension VerifiedCredential {
    /// The whole credential, for sealing.
    package var stored: JSONValue {
        var members: [String: JSONValue] = [
            "provider": .string(incoming.identity.provider.rawValue),
            "subject": .string(incoming.identity.subject),
            "federatedID": .string(federatedID),
            "rawUserInfo": .string(rawUserInfo),
        ]
        func set(_ name: String, _ text: String?) {
            if let text { members[name] = .string(text) }
        }
        set("issuer", incoming.issuer)
        if case .present(let address, let flag, let hostedDomain) = incoming.email {
            set("email", address.raw)
            // The previous version needs a Boolean flag.
            members["emailVerified"] = .bool(flag.value == true)
            if flag.value == nil { members["emailVerifiedIsAbsent"] = .bool(true) }
            set("hostedDomain", hostedDomain)
        }
        for field in ProfileField.allCases { set(field.rawValue, incoming.profile[field]) }
        set("firstName", firstName)
        set("lastName", lastName)
        set("fullName", fullName)
        set("idToken", tokens.idToken)
        set("accessToken", tokens.accessToken)
        set("tokenSecret", tokens.tokenSecret)
        set("refreshToken", tokens.refreshToken)
        set("authorizationCode", tokens.authorizationCode)
        if let seconds = tokens.expiresInSeconds { members["expiresInSeconds"] = .integer(seconds) }
        if let signedInAt { members["signedInAt"] = .integer(signedInAt.secondsSinceEpoch) }
        if let expiresAt { members["expiresAt"] = .integer(expiresAt.secondsSinceEpoch) }
        if let signInAttributes { members["signInAttributes"] = signInAttributes }
        return .object(members)
    }

    /// The inverse of `stored`; `nil` for anything else.
    package init?(stored: JSONValue) {
        guard let provider = stored["provider"]?.string.flatMap(ProviderID.init),
            let subject = stored["subject"]?.string,
            let identity = ProviderIdentity(provider: provider, subject: subject),
            let federatedID = stored["federatedID"]?.string, let rawUserInfo = stored["rawUserInfo"]?.string
        else { return nil }
        var email = EmailAssertion.absent
        if let text = stored["email"]?.string {
            guard let address = EmailAddress(text) else { return nil }
            email = .present(
                address,
                flag: VerifiedFlag(
                    stored["emailVerifiedIsAbsent"] == .bool(true) ? nil : stored["emailVerified"]?.bool
                ),
                hostedDomain: stored["hostedDomain"]?.string
            )
        }
        var profile = Profile()
        for field in ProfileField.allCases { profile[field] = stored[field.rawValue]?.string }
        self.init(
            incoming: IncomingCredential(
                identity: identity,
                issuer: stored["issuer"]?.string,
                email: email,
                profile: profile
            ),
            federatedID: federatedID,
            tokens: ProviderTokens(
                idToken: stored["idToken"]?.string,
                accessToken: stored["accessToken"]?.string,
                tokenSecret: stored["tokenSecret"]?.string,
                refreshToken: stored["refreshToken"]?.string,
                authorizationCode: stored["authorizationCode"]?.string,
                expiresInSeconds: stored["expiresInSeconds"]?.integer
            ),
            rawUserInfo: rawUserInfo,
            firstName: stored["firstName"]?.string,
            lastName: stored["lastName"]?.string,
            fullName: stored["fullName"]?.string,
            signedInAt: stored["signedInAt"]?.integer.map(Timestamp.init(secondsSinceEpoch:)),
            expiresAt: stored["expiresAt"]?.integer.map(Timestamp.init(secondsSinceEpoch:)),
            signInAttributes: stored["signInAttributes"]
        )
    }
}

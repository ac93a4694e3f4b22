import AccountLinking
package import JSON

// A flow that waits for its answer is sealed as JSON.

extension AuthorizationFlow {
    /// The whole flow, for sealing.
    package var stored: JSONValue {
        let texts = [
            "redirectURI": redirectURI, "nonce": nonce, "codeVerifier": codeVerifier, "tenant": tenant,
            "requestToken": requestToken, "requestTokenSecret": requestTokenSecret,
        ]
        var members = texts.compactMapValues { $0.map(JSONValue.string) }
        if let signedInSince { members["signedInSince"] = .integer(signedInSince.secondsSinceEpoch) }
        return .object(members)
    }

    /// The inverse of `stored`; `nil` for anything else.
    package init?(stored: JSONValue) {
        guard let redirectURI = stored["redirectURI"]?.string else { return nil }
        self.init(
            redirectURI: redirectURI,
            nonce: stored["nonce"]?.string,
            codeVerifier: stored["codeVerifier"]?.string,
            tenant: stored["tenant"]?.string,
            requestToken: stored["requestToken"]?.string,
            requestTokenSecret: stored["requestTokenSecret"]?.string,
            signedInSince: stored["signedInSince"]?.integer.map(Timestamp.init(secondsSinceEpoch:))
        )
    }
}

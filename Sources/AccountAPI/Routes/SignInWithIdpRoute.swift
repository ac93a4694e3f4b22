import AccountLinking
import AccountOperations
import HTTPTypes
import IdentityProviders
import JSON

extension Route {
    /// `accounts:signInWithIdp`: sign-in, link or reauthentication with a provider.
    static let signInWithIdp = Route(
        .post,
        "/v1/accounts:signInWithIdp",
        legacyName: "verifyAssertion",
        access: .client,
        hidesAccounts: true
    ) { request in
        let deviceRequest = try request.deviceRequest()
        let result = try await request.operations
            .signInWithIdp(signInWithIdpRequest(request), tenant: request.tenant)
        let returnsCredential = try request.body.bool("returnIdpCredential") ?? false
        let returnsRefreshToken = try request.body.bool("returnRefreshToken") ?? false
        if case .refused(let refusal, _) = result.ending, !returnsCredential { throw refusal.apiError }
        let deviceToken: String? =
            switch result.ending {
            case .signedIn(let signedIn): try await request.deviceToken(deviceRequest, of: signedIn)
            case .secondFactorRequired, .needsConfirmation, .needsMailbox, .asksFirst, .refused: nil
            }
        var response = APIResponse.object(after: result.decision) { writer in
            writer.field("kind", "identitytoolkit#VerifyAssertionResponse")
            if case .asksFirst(let pendingToken) = result.ending {
                writer.question(about: result.credential, pendingToken: pendingToken)
                return
            }
            writer.credential(result.credential, returnsRefreshToken: returnsRefreshToken)
            switch result.ending {
            case .signedIn(let signedIn):
                writer.emails(of: result.credential, account: signedIn.user.email)
                writer.field("localId", signedIn.user.id.rawValue)
                if signedIn.isNewUser { writer.field("isNewUser", true) }
                if signedIn.emailWasRecycled { writer.field("emailRecycled", true) }
                writer.tokens(signedIn.tokens)
                writer.field("deviceToken", deviceToken)
            case .secondFactorRequired(let pending):
                writer.emails(of: result.credential, account: pending.user.email)
                writer.field("localId", pending.user.id.rawValue)
                writer.pending(pending)
            case .needsConfirmation(let account, let verifiedProviders, let pendingToken):
                writer.emails(of: result.credential, account: nil)
                writer.field("needConfirmation", true)
                writer.field("localId", account.rawValue)
                writer.field("verifiedProvider", verifiedProviders.map(\.rawValue))
                writer.field("pendingToken", pendingToken)
            case .needsMailbox(let pseudonym, let pendingToken):
                writer.emails(of: result.credential, account: nil)
                writer.field("needConfirmation", true)
                writer.field("localId", pseudonym)
                writer.field("pendingToken", pendingToken)
            case .asksFirst: break
            case .refused(let refusal, let pendingToken):
                writer.emails(of: result.credential, account: nil)
                writer.field("errorMessage", refusal.apiError.message)
                writer.field("pendingToken", pendingToken)
            }
        }
        if case .needsMailbox = result.ending { response.hidesAccount = true }
        return response
    }

    private static func signInWithIdpRequest(_ request: APIRequest) throws(APIError) -> SignInWithIdp {
        let body = request.body
        let idToken = try body.nonEmptyString("idToken")
        let createsUsers = try body.bool("autoCreate") ?? true
        let asksFirst = try body.bool("asksFirst") ?? false
        let pendingToken = try body.nonEmptyString("pendingToken")
        let requestURI = try body.nonEmptyString("requestUri")
        if let requestURI, !isAbsolute(requestURI) { throw .code(.invalidRequestURI) }
        let source: SignInWithIdp.Source
        if let pendingToken {
            source = .pendingToken(pendingToken)
        } else {
            guard let requestURI else { throw .code(.missingRequestURI) }
            let parameters = ProviderParameters(
                requestURI: requestURI,
                postBody: try body.nonEmptyString("postBody"),
                sessionID: try body.nonEmptyString("sessionId")
            )
            if parameters.holdsNUL { throw .containsNUL }
            if let state = parameters.state {
                source = .flow(parameters, state: state)
            } else if let provider = parameters.provider {
                source = .credential(parameters.credential(of: provider))
            } else {
                throw .code(
                    .invalidCredentialOrProviderID,
                    "Invalid IdP response/credential: the provider is not named."
                )
            }
        }
        return SignInWithIdp(
            source: source,
            idToken: idToken,
            createsUsers: createsUsers,
            asksFirst: asksFirst,
            continueURL: try body.nonEmptyString("continueUrl"),
            clientAddress: request.subscriber,
            locale: request.locale
        )
    }

    /// Returns true if `text` begins with a scheme and an authority (RFC 3986 §3). The URL is never fetched.
    private static func isAbsolute(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.utf8.startIndex else {
            return false
        }
        let scheme = text.utf8[..<colon]
        let isScheme = scheme.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
        }
        return isScheme && text[colon...].hasPrefix("://") && text.utf8.count > scheme.count + 3
    }
}

extension JSONWriter {
    /// The fields of the provider's credential that the answer repeats.
    fileprivate mutating func credential(_ credential: VerifiedCredential, returnsRefreshToken: Bool) {
        field("federatedId", credential.federatedID)
        field("providerId", credential.incoming.identity.provider.rawValue)
        field("firstName", credential.firstName)
        field("lastName", credential.lastName)
        field("fullName", credential.fullName)
        field("displayName", credential.incoming.profile.displayName)
        field("screenName", credential.incoming.profile.screenName)
        field("photoUrl", credential.incoming.profile.photoURL)
        field("language", credential.incoming.profile.language)
        field("timeZone", credential.incoming.profile.timeZone)
        field("dateOfBirth", credential.incoming.profile.dateOfBirth)
        field("context", "")
        field("rawUserInfo", credential.rawUserInfo)
        field("oauthIdToken", credential.tokens.idToken)
        field("oauthAccessToken", credential.tokens.accessToken)
        field("oauthTokenSecret", credential.tokens.tokenSecret)
        if returnsRefreshToken { field("oauthRefreshToken", credential.tokens.refreshToken) }
        field("oauthExpireIn", credential.tokens.expiresInSeconds)
    }

    /// The question whether to create an account: the provider, with the person as it names them.
    fileprivate mutating func question(about credential: VerifiedCredential, pendingToken: String) {
        field("asksFirst", true)
        field("pendingToken", pendingToken)
        field("providerId", credential.incoming.identity.provider.rawValue)
        field("email", credential.incoming.email.address?.lowercased)
        field("displayName", credential.incoming.profile.displayName)
    }

    /// The provider's address and its verification flag; the account's flag if both have the same address.
    fileprivate mutating func emails(of credential: VerifiedCredential, account: AccountEmail?) {
        guard case .present(let address, let flag, _) = credential.incoming.email else {
            field("originalEmail", account?.address.lowercased)
            return
        }
        field("email", address.lowercased)
        field("emailVerified", account?.address == address ? account?.isVerified : flag == .isTrue)
        if let account, account.address != address { field("originalEmail", account.address.lowercased) }
    }
}

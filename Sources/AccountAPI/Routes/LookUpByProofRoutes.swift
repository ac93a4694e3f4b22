import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// Lookups of sign-in methods by the reader of the mailbox. They require no API key: the mailed code is the secret.

extension Route {
    private static let lookUpPath = "/concord/v1/lookup"

    static let lookUps = [requestLookUp, proveLookUp, continueLookUp]

    /// `POST /concord/v1/lookup`: mails the owner of an address how to sign in. Every address gets the same answer, but
    /// a device that the account knows gets the methods at once.
    private static let requestLookUp = Route(.post, lookUpPath, access: .anyone, hidesAccounts: true) { request in
        let body = request.body
        guard let email = try body.nonEmptyString("email").flatMap(EmailAddress.init) else {
            throw Problem(.malformedRequest, "`email` must be an email address.")
        }
        let continueURL = try body.nonEmptyString("continueUrl")
        try await lookUp { try request.operations.requireAuthorized(mailReturningTo: continueURL) }
        if let account = try await request.knownDevice(asking: email) {
            return .object { writer in writer.fields(of: account) }
        }
        try await lookUp {
            try await request.operations.requestLookUp(
                of: email,
                continueURL: continueURL,
                tenant: request.tenant,
                locale: request.locale,
                clientAddress: request.subscriber
            )
        }
        var response = APIResponse.object { _ in }
        response.isAccepted = true
        response.hidesAccount = true
        return response
    }

    /// `POST /concord/v1/lookup:prove`: the sign-in methods, for the reader of the mail.
    private static let proveLookUp = Route(
        .post,
        lookUpPath + ":prove",
        access: .anyone,
        hidesAccounts: true
    ) { request in
        let answer = try request.lookUpAnswer()
        let proven = try await lookUp {
            try await request.operations.proveLookUp(
                answer,
                tenant: request.tenant,
                clientAddress: request.subscriber
            )
        }
        return .proven(proven)
    }

    /// `POST /concord/v1/lookup:continue`: signs in, gets the code to set a password, or proves a conflict.
    private static let continueLookUp = Route(.post, lookUpPath + ":continue", access: .anyone) { request in
        let body = request.body
        guard let proof = try body.nonEmptyString("proofToken") else {
            throw Problem(.malformedRequest, "`proofToken` is required.")
        }
        guard let way = try body.nonEmptyString("way").flatMap(LookUpWay.init(rawValue:)) else {
            throw Problem(.malformedRequest, "`way` must be `signIn`, `setPassword` or `linkProvider`.")
        }
        let pendingToken = try body.nonEmptyString("pendingToken")
        switch way {
        case .signIn:
            let deviceRequest = try request.deviceRequest()
            let result = try await lookUp {
                try await request.operations.signInByLookUp(
                    proof,
                    pendingToken: pendingToken,
                    tenant: request.tenant,
                    locale: request.locale,
                    clientAddress: request.subscriber
                )
            }
            let deviceToken = try await request.deviceToken(deviceRequest, of: result.signedIn)
            return .signedIn(result, deviceToken)
        case .setPassword:
            let continueURL = try body.nonEmptyString("continueUrl")
            let code = try await lookUp {
                try await request.operations.resetPasswordByLookUp(
                    proof,
                    continueURL: continueURL,
                    tenant: request.tenant,
                    locale: request.locale
                )
            }
            return .object { writer in
                writer.field("oobCode", code.code)
                writer.field("oobLink", code.link)
            }
        case .linkProvider:
            guard let pendingToken else { throw Problem(.malformedRequest, "`pendingToken` is required.") }
            return try await request.answer(boundTo: proof, as: APIResponse.proven) { idempotent in
                try await lookUp {
                    try await request.operations.proveConflictByLookUp(
                        proof,
                        conflict: pendingToken,
                        request.change(idempotent)
                    )
                }
            }
        }
    }

    /// Names the refusals of codes as the problems of this API do.
    private static func lookUp<Answer>(_ work: () async throws -> Answer) async throws -> Answer {
        do {
            return try await work()
        } catch Denial.refusal(.invalidEmailCode), Denial.emailCode(.expired) {
            throw Problem(.codeUnusable, "Request a new mail: POST \(lookUpPath)")
        } catch Denial.emailCode(.invalidContinueURL) {
            throw Problem(.malformedRequest, "`continueUrl` must be an absolute http or https URL.")
        }
    }
}

/// `way`: the step after a lookup.
private enum LookUpWay: String {
    case signIn
    case setPassword
    case linkProvider
}

extension APIRequest {
    fileprivate func lookUpAnswer() throws -> LookUpAnswer {
        let (code, secret) = (try body.nonEmptyString("code"), try body.nonEmptyString("linkSecret"))
        switch (code, secret) {
        case (nil, let secret?): return .linkSecret(secret)
        case (let code?, nil):
            guard let mailbox = try body.nonEmptyString("email").flatMap(EmailAddress.init) else {
                throw Problem(.malformedRequest, "`email` must be an email address.")
            }
            return .code(code, mailbox: mailbox)
        case (nil, nil), (_?, _?):
            throw Problem(.malformedRequest, "Send `email` and `code`, or `linkSecret`.")
        }
    }
}

extension JSONWriter {
    /// Writes an account as its owner sees it before signing in.
    fileprivate mutating func fields(of account: KnownAccount) {
        field("email", account.email.lowercased)
        field("methods", objects: account.ways.methods) { writer, way in
            writer.field("method", way.method.name)
            writer.field("works", way.works)
            switch way.state {
            case .works: break
            case .obstructed(let obstacle): writer.field("obstacle", obstacle.rawValue)
            case .suspended(let until): writer.field("restorableUntil", RFC3339.text(until))
            }
        }
        field("lastUsed", account.lastUsed?.name)
        field("offersPassword", account.ways.offersPassword)
    }
}

extension APIResponse {
    @Sendable fileprivate static func proven(_ lookUp: ProvenLookUp) -> APIResponse {
        .object { writer in
            writer.fields(of: lookUp.account)
            writer.field("signsIn", lookUp.signsIn)
            if !lookUp.suspended.isEmpty { writer.suspensions(lookUp.suspended) }
            writer.field("proofToken", lookUp.proofToken)
            writer.field("expireTime", RFC3339.text(lookUp.expiresAt))
        }
    }

    fileprivate static func signedIn(_ result: SignInOutcome, _ deviceToken: String?) -> APIResponse {
        .object(after: result.signedIn?.decision) { writer in
            writer.field("localId", result.user.id.rawValue)
            writer.ending(result)
            writer.field("deviceToken", deviceToken)
            if let suspended = result.signedIn?.suspended, !suspended.isEmpty { writer.suspensions(suspended) }
        }
    }
}

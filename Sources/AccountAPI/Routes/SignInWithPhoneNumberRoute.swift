import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:signInWithPhoneNumber`: signs in, signs up, reauthenticates, or attaches the number to a session.
    static let signInWithPhoneNumber = Route(
        .post,
        "/v1/accounts:signInWithPhoneNumber",
        legacyName: "verifyPhoneNumber",
        access: .client
    ) { request in
        let deviceRequest = try request.deviceRequest()
        let result = try await request.operations
            .signInWithPhone(phoneSignIn(request), tenant: request.tenant)
        let deviceToken: String? =
            switch result.ending {
            case .signedIn(let signedIn): try await request.deviceToken(deviceRequest, of: signedIn)
            case .numberInUse: nil
            }
        return .object(after: result.decision) { writer in
            switch result.ending {
            case .signedIn(let signedIn):
                writer.field("isNewUser", signedIn.isNewUser)
                writer.field("phoneNumber", signedIn.user.phoneNumber?.rawValue)
                writer.field("localId", signedIn.user.id.rawValue)
                writer.field("linkedProviderId", signedIn.linkedProvider?.rawValue)
                writer.tokens(signedIn.tokens)
                writer.field("deviceToken", deviceToken)
            case .numberInUse(let number, let temporaryProof, let expiresInSeconds):
                writer.field("phoneNumber", number.rawValue)
                writer.field("temporaryProof", temporaryProof)
                writer.field("temporaryProofExpiresIn", decimalString: expiresInSeconds)
            }
        }
    }

    private static func phoneSignIn(_ request: APIRequest) throws(APIError) -> PhoneSignIn {
        let body = request.body
        let operation = try PhoneOperation(reading: body)
        let shown: PhoneSignIn.Presented
        if let proof = try body.nonEmptyString("temporaryProof") {
            guard let number = try body.nonEmptyString("phoneNumber") else { throw .code(.missingPhoneNumber) }
            shown = .temporaryProof(proof, number: number)
        } else {
            guard let sessionInfo = try body.nonEmptyString("sessionInfo") else { throw .code(.missingSessionInfo) }
            guard let code = try body.nonEmptyString("code") else { throw .code(.missingCode) }
            shown = .code(code, sessionInfo: sessionInfo)
        }
        let idToken: String? =
            switch operation {
            // There is no account to attach the number to, and none is created.
            case .link, .update: try request.requiredIDToken()
            case .unspecified, .signUpOrIn, .reauthenticate: try body.nonEmptyString("idToken")
            }
        return PhoneSignIn(
            shown: shown,
            idToken: idToken,
            operation: operation,
            pendingToken: try body.nonEmptyString("pendingToken"),
            clientAddress: request.subscriber
        )
    }
}

extension PhoneOperation {
    /// Reads the operation by its name or by its number.
    fileprivate init(reading body: RequestBody) throws(APIError) {
        guard body.value("operation") != .string(""),
            let name = try body.enumeration("operation", Self.allCases.map(\.rawValue)),
            let operation = Self(rawValue: name)
        else {
            self = .unspecified
            return
        }
        self = operation
    }
}

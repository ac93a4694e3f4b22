import AccountLinking
import IdentityProviders

/// The answer of a sign-in, as the metric of sign-ins counts it.
protocol CountedSignIn: Sendable {
    var countedResult: OperationMetrics.SignInResult { get }
}

extension AccountOperations {
    /// Signs in, and counts the result. A failure of the database or of a provider is no result.
    ///
    /// - `links`: true if the request adds a method to the account of a session, which is no sign-in.
    func counting<Answer: CountedSignIn>(
        _ method: OperationMetrics.SignInMethod,
        links: Bool = false,
        _ signIn: () async throws -> Answer
    ) async throws -> Answer {
        let answer = try await countingRefusal(method, links: links, signIn)
        if !links { metrics.signedIn(by: method, answer.countedResult) }
        return answer
    }

    /// Does a part of a sign-in, and counts its refusal.
    func countingRefusal<Output: Sendable>(
        _ method: OperationMetrics.SignInMethod,
        links: Bool,
        _ work: () async throws -> Output
    ) async throws -> Output {
        do {
            return try await work()
        } catch let denial as Denial {
            if !links { metrics.signedIn(by: method, .refused) }
            throw denial
        }
    }
}

extension SignedIn: CountedSignIn {
    var countedResult: OperationMetrics.SignInResult { isNewUser ? .newAccount : .success }
}

extension SignInOutcome: CountedSignIn {
    var countedResult: OperationMetrics.SignInResult {
        switch self {
        case .signedIn(let signedIn): signedIn.countedResult
        case .secondFactorRequired: .needsSecondFactor
        }
    }
}

extension SignInWithIdp.Result: CountedSignIn {
    var countedResult: OperationMetrics.SignInResult {
        switch ending {
        case .signedIn(let signedIn): signedIn.countedResult
        case .secondFactorRequired: .needsSecondFactor
        case .needsConfirmation, .needsMailbox, .asksFirst: .conflict
        // With a handle, the credential waits in a conflict.
        case .refused(_, let pendingToken): pendingToken == nil ? .refused : .conflict
        }
    }
}

extension PhoneSignIn.Result: CountedSignIn {
    var countedResult: OperationMetrics.SignInResult {
        switch ending {
        case .signedIn(let signedIn): signedIn.countedResult
        case .numberInUse: .refused
        }
    }
}

extension FinishSignIn.Result: CountedSignIn {
    var countedResult: OperationMetrics.SignInResult { signedIn.countedResult }
}

extension SignInWithIdp.Source {
    /// The method before the credential is verified.
    var method: OperationMetrics.SignInMethod {
        switch self {
        case .credential(let credential): OperationMetrics.SignInMethod(credential.provider)
        case .flow, .pendingToken: .other
        }
    }
}

extension FirstFactor {
    var method: OperationMetrics.SignInMethod {
        switch kind {
        case .password: .password
        case .emailLink: .emailLink
        case .idp(let credential, conflict: _): OperationMetrics.SignInMethod(credential.incoming.identity.provider)
        }
    }
}

import Foundation

extension Auth {
    /// Throws if an answer of status 200 signs no user in: a second factor is needed, a conflict was opened, or the
    /// server asks first. A conflict is stored before its error is thrown.
    func check(_ answer: SignInAnswer, for purpose: SignInPurpose) throws(AuthError) {
        if let pending = answer.mfaPendingCredential {
            var error = AuthError(.secondFactorRequired, "the account requires its second factor; use the resolver")
            error.email = answer.email
            error.resolver = MultiFactorResolver(
                auth: self,
                pending: Secret(pending),
                hints: (answer.mfaInfo ?? []).map { MultiFactorInfo(StoredUser.Factor($0)) },
                purpose: purpose
            )
            throw error
        }
        if answer.needConfirmation == true {
            throw refusal(
                AuthError(
                    .accountExistsWithDifferentCredential,
                    "an account may have this address; sign in to it, then link the credential"
                ),
                answer,
                answer.verifiedProvider == nil ? .unprovenAddress : .accountExists,
                purpose
            )
        }
        if let message = answer.errorMessage {
            let error = AuthError(message: message)
            throw refusal(error, answer, error.code == .emailAlreadyInUse ? .emailInUse : .credentialInUse, purpose)
        }
        if answer.asksFirst == true {
            var error = AuthError(.asksFirst, "the sign-in would create an account; ask the user first")
            error.email = answer.email
            error.updatedCredential = answer.credential(provider: purpose.provider)
            error.details = JSONValue.members(["displayName": answer.displayName?.json]).objectValue ?? [:]
            throw error
        }
        if let proof = answer.temporaryProof, let number = answer.phoneNumber {
            var error = AuthError(.credentialAlreadyInUse, "another account has the number")
            error.updatedCredential = AuthCredential("phone", .phoneProof(phoneNumber: number, proof: Secret(proof)))
            throw error
        }
    }

    /// Adds to an error what the app can go on with, and stores the conflict.
    private func refusal(
        _ error: AuthError,
        _ answer: SignInAnswer,
        _ kind: AuthConflict.Kind,
        _ purpose: SignInPurpose
    ) -> AuthError {
        var error = error
        error.email = answer.email
        error.updatedCredential = answer.credential(provider: purpose.provider)
        guard let handle = answer.pendingToken, error.code != .userNotFound else { return error }
        let conflict = AuthConflict(
            kind: kind,
            providerID: answer.providerId ?? purpose.provider,
            email: answer.email,
            handle: handle,
            server: configuration.server,
            projectID: configuration.projectID,
            receiveTime: configuration.now()
        )
        error.conflict = conflict
        do {
            let (state, _) = try keeper.change { state in
                state.conflicts.removeAll { $0.handle == conflict.handle }
                state.conflicts = (state.conflicts + [conflict]).suffix(StoredState.mostPending)
            }
            publish(state)
        } catch let failure {
            // The error still has the conflict: the app can store it.
            error.underlying = failure
        }
        return error
    }
}

public import Foundation

/// A sign-in method that stopped working when the owner of the address proved it. It can be restored.
///
/// Source: `SuspendedMethod` of `docs/openapi.json`, `docs/concepts/proof-and-takeover.md`.
public struct SuspendedMethod: Sendable, Hashable, Decodable {
    /// `password`, `phone`, or a provider id.
    public let method: String
    /// The reason: `address-proven`, `password-reset`, `address-recovered` or `audit`.
    public let reason: String
    /// The name of the decision, for operators.
    public let decision: String
    /// The time of the suspension.
    public let suspendTime: Date
    /// The end of the suspension. The method is deleted then.
    public let expireTime: Date

    private enum CodingKeys: String, CodingKey {
        case method, reason, decision, expireTime
        case suspendTime = "quarantineTime"
    }
}

/// The suspended methods of an account, and the version of the account that has them.
public struct SuspendedMethods: Sendable, Hashable {
    /// The methods.
    public let methods: [SuspendedMethod]
    /// Hand it to the change that the person chooses after seeing this list.
    public let version: ResourceVersion?

    struct Wire: Decodable, Sendable {
        let methods: [SuspendedMethod]
    }

    init(_ answer: Answered<Wire>) {
        methods = answer.value.methods
        version = answer.version
    }
}

extension User {
    /// Returns the suspended sign-in methods of the account. A provider comes back by ``link(with:)``.
    ///
    /// Source: `GET /concord/v1/account/quarantine`.
    public func suspendedMethods() async throws(AuthError) -> SuspendedMethods {
        SuspendedMethods(try await concord(.get("/concord/v1/account/quarantine")))
    }

    /// Restores the suspended password.
    ///
    /// - Parameters:
    ///   - password: The suspended password itself.
    ///   - version: The version that the person saw. If the account changed since, nothing is restored
    ///     (`changedMeanwhile`).
    /// - Returns: The methods of the account.
    /// - Throws: `requiresRecentLogin` if the sign-in is too old; `wrongProof` for another password.
    @discardableResult
    public func restorePassword(
        _ password: String,
        version: ResourceVersion? = nil
    ) async throws(AuthError) -> AccountMethods {
        let path = "/concord/v1/account/quarantine/password:restore"
        let call = Call<AccountMethods.Wire>.post(path, ["password": password.json])
        return AccountMethods(try await concord(call.matching(version).once()))
    }

    /// Deletes a suspended method before its time ends. It cannot be restored afterwards.
    ///
    /// - Throws: `requiresRecentLogin` if the sign-in is too old.
    @discardableResult
    public func deleteSuspendedMethod(
        _ method: String,
        version: ResourceVersion? = nil
    ) async throws(AuthError) -> SuspendedMethods {
        let call = Call<SuspendedMethods.Wire>.delete("/concord/v1/account/quarantine/" + segment(method))
        return SuspendedMethods(try await concord(call.matching(version).once()))
    }
}

public import Foundation

/// A sign-in method of the user's own account.
///
/// Source: `AccountMethod` of `docs/openapi.json`.
public struct AccountMethod: Sendable, Hashable, Decodable {
    /// `password`, `emailLink`, `phone`, or a provider id.
    public let method: String
    /// True if the method signs in now.
    public let works: Bool
    /// The reason why it does not: `account-disabled`, `no-address`, `not-available` or `not-enabled`.
    public let obstacle: String?
    /// The proof that was there when the method was added: `sign-up`, `session`, `message`, `provider-credential`,
    /// `administrator` or `imported`.
    public let proof: String?
    /// The time of that proof.
    public let proveTime: Date?
}

/// The sign-in methods of an account, and the version of the account that has them.
public struct AccountMethods: Sendable, Hashable {
    /// The methods.
    public let methods: [AccountMethod]
    /// Hand it to the change that the person chooses after seeing this list.
    public let version: ResourceVersion?

    struct Wire: Decodable, Sendable {
        let methods: [AccountMethod]
    }

    init(_ answer: Answered<Wire>) {
        methods = answer.value.methods
        version = answer.version
    }
}

extension User {
    /// Returns every sign-in method of the account, and whether it works now.
    ///
    /// Source: `GET /concord/v1/account/methods`.
    public func methods() async throws(AuthError) -> AccountMethods {
        AccountMethods(try await concord(.get("/concord/v1/account/methods")))
    }

    /// Removes a sign-in method. The last one that works stays.
    ///
    /// - Parameters:
    ///   - method: ``AccountMethod/method``.
    ///   - version: ``AccountMethods/version`` of the list that the person saw. If the account changed since, nothing
    ///     is removed (`changedMeanwhile`).
    /// - Returns: The methods that are left.
    /// - Throws: `requiresRecentLogin` if the sign-in is too old; `lastSignInMethod` for the last one.
    @discardableResult
    public func removeMethod(
        _ method: String,
        version: ResourceVersion? = nil
    ) async throws(AuthError) -> AccountMethods {
        let call = Call<AccountMethods.Wire>.delete("/concord/v1/account/methods/" + segment(method))
        return AccountMethods(try await concord(call.matching(version).once()))
    }
}

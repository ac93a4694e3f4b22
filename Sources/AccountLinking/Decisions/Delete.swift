/// Decides the deletion of an account. Deleting frees every identifier it owned.
///
/// Total and pure; the first matching rule wins.
///
/// - `account`: `nil` when there is none (any more).
package func decideDelete(
    policy: LinkPolicy,
    account: Account?,
    request: RequestOrigin
) -> Verdict<DeletionDecision> {
    guard let account else { return Verdict(.d1, .refuse(.userNotFound)) }
    switch request {
    case .administrator:
        return Verdict(.d5, .delete(account.id))
    case .client(let isSessionRecent):
        if account.isDisabled { return Verdict(.d2, .refuse(.userDisabled)) }
        guard isSessionRecent else { return Verdict(.d3, .refuse(.credentialTooOld)) }
        guard policy.allowsClientDeletion else { return Verdict(.d4, .refuse(.selfDeletionDisabled)) }
        return Verdict(.d5, .delete(account.id))
    }
}

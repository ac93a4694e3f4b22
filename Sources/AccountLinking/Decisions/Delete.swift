/// Decides the deletion of an account. Deletion frees every identifier of the account.
///
/// - `account`: `nil` if there is none.
package func decideDelete(
    policy: LinkPolicy,
    account: Account?,
    request: RequestOrigin
) -> Verdict<DeletionDecision> {
    guard let account else { return Verdict(.deleteUnknownAccount, .refuse(.userNotFound)) }
    switch request {
    case .administrator:
        return Verdict(.accountDeleted, .delete(account.id))
    case .client(let isSessionRecent):
        if account.isDisabled { return Verdict(.deleteAccountDisabled, .refuse(.userDisabled)) }
        guard isSessionRecent else { return Verdict(.deleteNeedsRecentSignIn, .refuse(.credentialTooOld)) }
        guard policy.allowsClientDeletion else { return Verdict(.deleteNotAllowed, .refuse(.selfDeletionDisabled)) }
        return Verdict(.accountDeleted, .delete(account.id))
    }
}

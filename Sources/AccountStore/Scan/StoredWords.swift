import AccountLinking
import Postgres

extension WordList {
    /// Texts that many rows about accounts hold. What is not among them costs the room that it takes, and nothing else.
    static let ofAccounts = WordList(
        methods.map(\.name) + emailProofs.map(\.name) + UserRecord.Proof.allCases.map(\.rawValue)
            + EmailCodeRecord.Kind.allCases.map(\.rawValue) + ConflictKind.allCases.map(\.rawValue)
            + ["email", "federated", "anonymous", "custom"]
    )

    private static let providers: [ProviderID] = [
        .google, .apple, .facebook, .twitter, .gitHub, .microsoft, .yahoo, .linkedIn, .playGames, .gameCenter,
    ]
    private static let methods = [.password, .emailLink, .phone] + providers.map(SignInMethod.provider)
    private static let emailProofs =
        [.emailCode, .emailLink, .passwordReset, .administrator] + providers.map(EmailProof.provider)
}

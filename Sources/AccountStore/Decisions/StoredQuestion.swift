import AccountLinking
import JSON

/// A question in its stored form: its name and its facts in one object.
struct StoredQuestion: Encodable {
    private enum CodingKeys: CodingKey {
        case question
    }

    let question: any Question

    /// Add new questions here.
    private static let types: [any Question.Type] = [
        SignInWithIdpQuestion.self,
        LinkWithIdpQuestion.self,
        SignInWithEmailLinkQuestion.self,
        SignInWithPhoneQuestion.self,
        SignInWithPasswordQuestion.self,
        SignUpAnonymouslyQuestion.self,
        SignUpQuestion.self,
        LinkPasswordQuestion.self,
        CompleteSignUpQuestion.self,
        LinkConfirmedQuestion.self,
        SignInWithCustomTokenQuestion.self,
        UnlinkQuestion.self,
        RemoveMethodQuestion.self,
        RestorePasswordQuestion.self,
        ResetPasswordQuestion.self,
        VerifyEmailQuestion.self,
        UpdateByAdminQuestion.self,
        ResolveConflictQuestion.self,
    ]

    private static let typesByName = Dictionary(uniqueKeysWithValues: types.map { ($0.name, $0) })

    /// Facts that are omitted if they are false, because they nearly always are.
    static let omittedFalse: Set<String> = [
        "disabled", "initialEmail", "password", "emailLink", "secondFactor", "customTokens", "wasProven",
        "settlesConflict", "asksFirst",
        "mergedAway", "removesEmail", "removesPassword", "removesEmailLink", "setsPassword", "revokesSessions",
    ]

    init(_ question: any Question) {
        self.question = question
    }

    func encode(to encoder: any Encoder) throws {
        var facts = encoder.container(keyedBy: CodingKeys.self)
        try facts.encode(type(of: question).name, forKey: .question)
        try question.encode(to: encoder)
    }

    /// The inverse of `encode`; `nil` if this version cannot parse the question.
    init?(_ stored: JSONValue) {
        guard var facts = stored.object, let name = facts["question"]?.string, let type = Self.typesByName[name] else {
            return nil
        }
        // Older versions recorded links and numbers without this fact.
        if facts["sessionRecent"] == nil, type == LinkWithIdpQuestion.self || type == SignInWithPhoneQuestion.self {
            facts["sessionRecent"] = .bool(true)
        }
        guard let question = try? JSONValue.object(facts).decode(type) else { return nil }
        self.question = question
    }
}

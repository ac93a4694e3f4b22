import AccountLinking
import Testing

/// `LinkedSubjects` compared with a dictionary.
struct LinkedSubjectsTests {
    private static let providers = ["google.com", "apple.com", "oidc.work", "facebook.com"].compactMap(ProviderID.init)

    @Test func `after any operations it equals a dictionary, sorted by provider`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var subjects = LinkedSubjects()
            var expected: [ProviderID: String] = [:]
            for step in 0..<12 {
                guard let provider = Self.providers.randomElement(using: &generator) else { return }
                let subject = Bool.random(using: &generator) ? "subject-\(step)" : nil
                subjects[provider] = subject
                expected[provider] = subject
                #expect(subjects.keys == expected.keys.sorted())
                #expect(subjects.values == expected.sorted { $0.key < $1.key }.map(\.value))
                #expect(Self.providers.allSatisfy { subjects[$0] == expected[$0] })
            }
            let anew = expected.shuffled().reduce(into: LinkedSubjects()) { $0[$1.key] = $1.value }
            #expect(anew == subjects && anew.hashValue == subjects.hashValue)
            #expect(subjects.mapValues { $0 + "!" }.map(\.value) == subjects.values.map { $0 + "!" })
        }
    }

    @Test func `of several identities with one provider the last wins`() throws {
        let identities = try ["first", "second"].map { subject in
            try #require(ProviderIdentity(provider: .google, subject: subject))
        }
        #expect(LinkedSubjects(identities) == [.google: "second"])
        #expect(LinkedSubjects([ProviderIdentity]()).isEmpty)
    }

    @Test func `the issuer of a row is stored if the provider does not determine who assigns its subjects`() throws {
        let rows = [
            (identity(provider("oidc.work"), "w"), "https://accounts.google.com"),
            (identity(.google, "g"), "https://accounts.google.com"),
            (identity(.microsoft, "m"), "https://login.microsoftonline.com/directory/v2.0"),
        ].map { (identity: $0.0, issuer: String?.some($0.1)) }
        var subjects = LinkedSubjects(rows)
        #expect(subjects.keys == [.google, .microsoft, provider("oidc.work")])
        #expect(subjects.issuer(of: .google) == nil)
        #expect(subjects.issuer(of: .microsoft) == "https://login.microsoftonline.com/directory/v2.0")
        #expect(subjects.mapValues { $0 + "!" }.issuer(of: provider("oidc.work")) == "https://accounts.google.com")
        subjects[provider("oidc.work")] = "another"
        #expect(subjects.issuer(of: provider("oidc.work")) == nil)
    }
}

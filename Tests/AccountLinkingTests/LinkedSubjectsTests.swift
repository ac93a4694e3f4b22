import AccountLinking
import Testing

/// `LinkedSubjects` against what it stands for, a dictionary.
struct LinkedSubjectsTests {
    private static let providers = ["google.com", "apple.com", "oidc.work", "facebook.com"].compactMap(ProviderID.init)

    @Test func `it holds what a dictionary holds, in the order of providers, whatever was done in which order`() {
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

    @Test func `of several identities with one provider the last counts`() throws {
        let identities = try ["first", "second"].map { subject in
            try #require(ProviderIdentity(provider: .google, subject: subject))
        }
        #expect(LinkedSubjects(identities) == [.google: "second"])
        #expect(LinkedSubjects([ProviderIdentity]()).isEmpty)
    }
}

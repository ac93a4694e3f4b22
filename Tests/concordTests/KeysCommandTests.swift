import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import ArgumentParser
import Foundation
import JSON
import Testing

@testable import concord

/// The texts of `concord keys`.
struct KeysCommandTests {
    private static let uses = [
        SealedValues.Use(column: .clientSecret, keyID: "2", count: 3),
        SealedValues.Use(column: .totpSecret, keyID: "1", count: 1200),
        SealedValues.Use(column: .totpSecret, keyID: "2", count: 4),
        SealedValues.Use(column: .message, keyID: "9", count: 1),
        SealedValues.Use(column: .message, keyID: nil, count: 2),
    ]

    @Test func `each key has a state, and the next step if it needs one`() throws {
        let listing = KeyListing(configured: ["2", "1", "3", "10"], uses: Self.uses, signingKeys: [])
        #expect(listing.keys.map(\.id) == ["2", "1", "3", "9", "10"])
        #expect(listing.keys.map(\.state) == [.current, .used, .unused, .missing, .unused])
        #expect(
            listing.text(at: Timestamp(secondsSinceEpoch: 0)) == """
                KEY  STATE    VALUES
                2    current  7
                1    used     1,200
                3    unused   0
                9    missing  1
                10   unused   0

                SEALED COLUMN                          KEY  VALUES
                provider_configs.sealed_client_secret  2    3
                second_factors.sealed_secret           1    1,200
                second_factors.sealed_secret           2    4
                outbox.sealed_payload                  9    1
                outbox.sealed_payload                  -    2

                key 1 is still needed: run concord keys reseal
                key 3 seals no value: it can be removed, unless it is the next key
                key 9 is not configured: add it, or its values cannot be read
                key 10 seals no value: it can be removed, unless it is the next key
                2 values name no key: nothing can read them
                """
        )
        let json = listing.json
        #expect(json["encryptionKeys"]?.array?.count == 5)
        #expect(json["encryptionKeys"]?.array?.first?["state"]?.string == "current")
        #expect(json["sealedValues"]?.array?.last?["key"] == .null)
        #expect(json["signingKeys"]?.array == [])
    }

    @Test func `signing keys are listed with their age`() async throws {
        try await TestService.with { service in
            _ = try await service.signingKeys.rotate(.idToken)
            service.clock.advance(seconds: 7300)
            let now = service.clock.now
            let keys = try await ListedSigningKey.all(service.operations.store, at: now)
            let listing = KeyListing(configured: ["1"], uses: [], signingKeys: keys)
            let lines = listing.text(at: now).split(separator: "\n")
            #expect(
                lines.contains { $0.contains("id-token") && $0.contains("  2h   next (signs from 2") }
                    && lines.contains { $0.contains("session-cookie") && $0.hasSuffix("  signing") },
                "\(lines)"
            )
            let json = listing.json["signingKeys"]?.array ?? []
            #expect(json.map { $0["state"]?.string } == ["next", "signing", "signing"])
            #expect(json.map { $0["publishedUntil"] == nil } == [true, false, true])

            // A day after its making, the next key signs.
            service.clock.advance(seconds: 86_400 - 7300)
            let later = service.clock.now
            let rotated = KeyListing(
                configured: ["1"],
                uses: [],
                signingKeys: try await ListedSigningKey.all(service.operations.store, at: later)
            )
            #expect(
                rotated.json["signingKeys"]?.array?.map { $0["state"]?.string } == ["signing", "retired", "signing"]
            )
            let text = rotated.text(at: later)
            #expect(text.contains("  retired (verifies until 2"), "\(text)")
        }
    }

    @Test func `the report of a run names what is left and why`() throws {
        var outcome = SealedValues.Outcome()
        outcome.resealed = 1200
        outcome.skipped = 1
        outcome.unreadable = [.message: [.unknownKey("9"): 1, .malformed: 2]]
        let left = Self.uses.filter { $0.column == .message }
        let report = ResealReport(outcome: outcome, uses: left, current: "2", isDryRun: false)
        #expect(report.leftCount == 3)
        #expect(
            report.text == """
                1,200 values sealed with key 2
                1 value changed meanwhile, and tried again
                1 value of outbox.sealed_payload cannot be opened: key 9 is not configured. Add it to keys.encryption \
                behind the current key, and run the command again
                2 values of outbox.sealed_payload cannot be opened: not sealed values. Restore them from a backup
                3 values of other keys left:
                  outbox.sealed_payload: 1 value of key 9
                  outbox.sealed_payload: 2 values of no key
                """
        )
        #expect(report.json["left"]?.integer == 3 && report.json["unreadable"]?.array?.count == 2)
        #expect(ResealReport.uses([], current: "2") == "there is no sealed value")
    }

    @Test func `a new key has the next id, and its file is for its owner only`() throws {
        let key = try #require(NewEncryptionKey(after: [3, 1, 7]))
        #expect(key.id == 8 && KeyEncryptionKey(key.line)?.id == 8)
        #expect(try #require(NewEncryptionKey(after: [3, 1, 7])).line != key.line)
        #expect(NewEncryptionKey(after: [65_535]) == nil)
        #expect(key.steps(current: 7, file: nil).contains("shows key 7 as unused"))
        let path = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try key.write(to: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == key.line + "\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(throws: StartupFailure.self) { try key.write(to: path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == key.line + "\n", "the file stays")
    }
}

import AccountLinking
import AccountStore
import AccountTestSupport
import Crypto
import JSON
import Postgres
import Testing

@testable import AccountOperations

private func protected(deviceSeconds: Int64 = 90 * 86_400) -> JSONValue {
    var members = ProjectSettings.developmentDefaults.object ?? [:]
    members["emailPrivacyConfig"] = ["enableImprovedEmailPrivacy": true]
    var concord = members["concord"]?.object ?? [:]
    concord["devices"] = ["seconds": .integer(deviceSeconds)]
    members["concord"] = .object(concord)
    return .object(members)
}

extension TestService {
    fileprivate func token(_ signedIn: SignedIn, presenting token: String? = nil) async throws -> String? {
        try await operations.newDeviceToken(.token(presenting: token), of: signedIn)
    }

    /// The names of the methods that a device learns; `nil` if it is answered as a stranger.
    fileprivate func methods(
        _ token: String?,
        _ email: EmailAddress,
        tenant: TenantID = .project
    ) async throws
        -> [String]?
    {
        try await operations.knownDevice(token, asking: email, tenant: tenant)?.found.methods
    }

    fileprivate func devices(_ tokens: IssuedTokens) async throws -> [ListedDevice] {
        try await operations.sessions(idToken: tokens.idToken, tenant: .project, after: nil, countMax: 100).devices
    }

    fileprivate func revoke(_ id: DeviceID, by tokens: IssuedTokens) async throws -> Outcome<Bool> {
        try await outcome(
            await operations.revokeDevice(id, idToken: tokens.idToken, ChangeRequest(tenant: .project))
        )
    }

    /// The device that the session of a sign-in made known; `nil` if there is none.
    fileprivate func deviceID(of signedIn: SignedIn) async throws -> DeviceID? {
        let user = try #require(await user(signedIn.user.id))
        let id = DeviceID(
            KnownDevice.id(of: user, in: signedIn.tokens.session, sealer: operations.sealer)
        )
        return try await devices(signedIn.tokens).contains { $0.id == id } ? id : nil
    }

    /// Hands a session over to an app.
    fileprivate func handOver(_ tokens: IssuedTokens) async throws -> HandedSession {
        let verifier = String(repeating: "v", count: 43)
        let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
        let destination = try AppReturn(
            continueURL: "http://localhost/welcome",
            state: nil,
            codeChallenge: challenge
        )
        let issued = try await operations.issueSignInCode(
            tokens.refreshToken,
            to: destination,
            ChangeRequest(tenant: .project)
        )
        let code = try #require(issued.url.firstMatch(of: /concordCode=([\w-]+)/))
        return try await operations.exchangeSessionCode(
            String(code.1),
            #require(CodeVerifier(verifier)),
            ChangeRequest(tenant: .project)
        )
    }

    fileprivate func deviceCount() async throws -> Int64 {
        try await database.count("SELECT count(*) FROM devices")
    }
}

/// Devices that an account knows: who learns its methods, how long, and how many there are.
struct DeviceTests {
    @Test func `a known device learns the methods of its account, and of no other`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try #require(try await service.token(account))
            #expect(!token.contains(account.user.id.rawValue))
            #expect(try await service.methods(token, email) == ["password"])
            let spelled = try #require(EmailAddress(email.raw.uppercased()))
            #expect(try await service.methods(token, spelled) == ["password"])
            let other = service.newAddress()
            _ = try await service.signUp(other).value
            #expect(try await service.methods(token, other) == nil, "another account")
            #expect(try await service.methods(token, service.newAddress()) == nil, "no account")
            #expect(try await service.methods(nil, email) == nil, "no token")
            #expect(try await service.methods(token, email, tenant: TenantID("t1")) == nil, "another tenant")
            try await service.edit(account.user.id) { $0.prove(.emailCode) }
            #expect(try await service.methods(token, email) == ["password", "emailLink"], "a link would sign in")
        }
    }

    @Test func `a token of another project counts as absent`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let token = try await service.token(service.signUp(email).value)
            try await TestService.with(settings: protected()) { other in
                // The same sealing key: only the account differs.
                _ = try await other.signUp(email).value
                #expect(try await other.methods(token, email) == nil)
            }
            #expect(try await service.methods(token, email) == ["password"])
        }
    }

    @Test func `a malformed token counts as absent`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try #require(try await service.token(account))
            let secret = try service.operations.newDeviceSecret(of: account)
            let cut = String(token.dropLast())
            let other = String(token.dropLast(8)) + "AAAAAAAA"
            for text in ["", "x", "é", cut, other, token + "A", secret, String(repeating: "A", count: 5000)] {
                #expect(try await service.methods(text, email) == nil, "\(text.prefix(20))")
            }
        }
    }

    @Test func `a device is known for 90 days after its last use`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try await service.token(account)
            service.clock.advance(seconds: 60 * 86_400)
            let again = try await service.signIn(email).value
            let renewed = try await service.token(again, presenting: token)
            service.clock.advance(seconds: 90 * 86_400 - 1)
            for text in [token, renewed] { #expect(try await service.methods(text, email) != nil) }
            #expect(try await service.deviceCount() == 1, "the same device")
            service.clock.advance(seconds: 1)
            for text in [token, renewed] { #expect(try await service.methods(text, email) == nil) }
            #expect(try await service.devices(service.signIn(email).value.tokens).isEmpty)
        }
    }

    @Test func `a device is forgotten when all sessions end, and not when one ends`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try await service.token(account)
            let own = try await service.signIn(email).value.tokens
            let session = try #require(
                try claims(account.tokens.idToken)["concord"]?["session"]?.string.flatMap(SessionID.init)
            )
            let request = ChangeRequest<Bool>(tenant: .project)
            #expect(try await service.operations.endSessions(.one(session), idToken: own.idToken, request))
            #expect(try await service.methods(token, email) != nil, "signing out is no reason to forget the device")
            #expect(try await service.operations.endSessions(.others, idToken: own.idToken, request) == false)
            #expect(try await service.operations.endSessions(.all, idToken: own.idToken, request))
            #expect(try await service.methods(token, email) == nil)
            service.clock.advance(seconds: 1)
            let later = try await service.signIn(email).value
            #expect(try await service.devices(later.tokens).isEmpty)
            let renewed = try await service.token(later, presenting: token)
            #expect(try await service.methods(renewed, email) != nil)
            #expect(try await service.methods(token, email) == nil, "the earlier token stays void")
        }
    }

    @Test func `a revoked device stays revoked for the sessions that exist; a new sign-in makes it known`() async throws
    {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try await service.token(account)
            let other = try await service.signIn(email).value
            let otherToken = try await service.token(other)
            let silent = try await service.signIn(email).value
            service.clock.advance(seconds: 1)
            let listed = try await service.devices(account.tokens)
            #expect(listed.count == 2)
            let id = try #require(try await service.deviceID(of: account))
            #expect(try await service.revoke(id, by: account.tokens).value)
            #expect(try await service.methods(token, email) == nil)
            #expect(try await service.revoke(id, by: account.tokens).value == false)
            service.clock.advance(seconds: 1)
            for presented in [nil, token, "x"] {
                #expect(try await service.token(account, presenting: presented) == nil)
            }
            #expect(try await service.token(silent) == nil, "the device of this session was not known")
            let renewed = try await service.token(other, presenting: otherToken)
            #expect(try await service.methods(renewed, email) != nil, "another device stays known")
            #expect(try await service.devices(account.tokens).map(\.id) == listed.map(\.id).filter { $0 != id })

            let again = try await service.signIn(email).value
            let fresh = try await service.token(again, presenting: token)
            #expect(try await service.methods(fresh, email) != nil)
            #expect(try await service.methods(token, email) == nil)
            #expect(try await service.devices(account.tokens).count == 2)
        }
    }

    @Test func `a session that is handed over does not make the revoked device known again`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try await service.token(account)
            let id = try #require(try await service.deviceID(of: account))
            #expect(try await service.revoke(id, by: account.tokens).value)
            service.clock.advance(seconds: 1)
            let handed = try await service.handOver(account.tokens)
            let request = DeviceRequest.token(presenting: token)
            #expect(try await service.operations.newDeviceToken(request, of: handed) == nil)
            #expect(try await service.devices(handed.tokens).isEmpty)
        }
    }

    @Test func `sessions that are handed over one after another share a device, and only the last is live`()
        async throws
    {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            var tokens = try await service.signUp(email).value.tokens
            for _ in 0..<30 {
                service.clock.advance(seconds: 1)
                let handed = try await service.handOver(tokens)
                let token = try await service.operations.newDeviceToken(.token(presenting: nil), of: handed)
                #expect(try await service.methods(token, email) != nil)
                let before = try await outcome(await service.operations.refreshSession(tokens.refreshToken))
                #expect(before.denial != nil, "the session before has ended")
                tokens = handed.tokens
            }
            #expect(try await service.devices(tokens).count == 1, "a session makes no number of devices known")
        }
    }

    @Test func `the row of a revocation cannot be listed, asked for or revoked`() async throws {
        try await TestService.with(settings: protected()) { service in
            let account = try await service.signUp(service.newAddress()).value
            _ = try await service.token(account)
            let id = try #require(try await service.deviceID(of: account))
            #expect(try await service.revoke(id, by: account.tokens).value)
            #expect(try await service.deviceCount() == 1)
            #expect(try await service.devices(account.tokens).isEmpty)
            #expect(
                try await service.revoke(DeviceID(Array(repeating: 0, count: 32)), by: account.tokens).value == false
            )
            #expect(try await service.deviceCount() == 1)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `after revocations an account still has at most 20 rows, and new sign-ins make devices known`()
        async throws
    {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            for _ in 0..<25 {
                service.clock.advance(seconds: 1)
                let signedIn = try await service.signIn(email).value
                #expect(try await service.token(signedIn) != nil)
                let id = try #require(try await service.deviceID(of: signedIn))
                #expect(try await service.revoke(id, by: account.tokens).value)
            }
            #expect(try await service.deviceCount() == 1)
            for _ in 0..<25 {
                service.clock.advance(seconds: 1)
                #expect(try await service.token(service.signIn(email).value) != nil)
            }
            #expect(try await service.deviceCount() == 20)
            #expect(try await service.devices(account.tokens).count == 19)
        }
    }

    @Test func `a session cannot revoke the device of another account`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try await service.token(account)
            let listed = try #require(try await service.devices(account.tokens).first)
            let stranger = try await service.signUp(service.newAddress()).value
            #expect(try await service.revoke(listed.id, by: stranger.tokens).value == false)
            #expect(try await service.methods(token, email) != nil)
        }
    }

    @Test func `accounts without an address, disabled accounts and deleted accounts have no known device`() async throws
    {
        try await TestService.with(settings: protected()) { service in
            #expect(try await service.token(service.signUpAnonymously()) == nil)
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try await service.token(account)
            try await service.edit(account.user.id) { $0.isDisabled = true }
            #expect(try await service.methods(token, email) == nil)
            try await service.edit(account.user.id) { $0.isDisabled = false }
            #expect(try await service.methods(token, email) != nil)
            _ = try await service.delete(account.tokens.idToken).value
            #expect(try await service.deviceCount() == 0)
            #expect(try await service.methods(token, email) == nil)
            #expect(try await service.token(account) == nil, "the session has ended")
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `if accounts know no devices, no token is made or accepted`() async throws {
        try await TestDatabase.with { database in
            try await database.withClient { client in
                let service = try await TestService.make(database: database, client: client, settings: protected())
                let email = service.newAddress()
                let account = try await service.signUp(email).value
                let token = try #require(try await service.token(account))
                try await database.execute(
                    "UPDATE project_config SET settings = jsonb_set(settings, '{concord,devices,seconds}', '0')"
                )
                let off = try await TestService.make(
                    database: database,
                    client: client,
                    settings: protected(deviceSeconds: 0)
                )
                #expect(try await off.token(account) == nil)
                #expect(try await off.methods(token, email) == nil)
                await service.operations.passwords.shutDown()
                await off.operations.passwords.shutDown()
            }
        }
    }

    @Test func `if the device cannot be stored, the sign-in stays and has no token`() async throws {
        try await TestService.with(settings: protected()) { service in
            let account = try await service.signUp(service.newAddress()).value
            try await service.database.execute("DROP TABLE devices")
            #expect(try await service.token(account) == nil)
            let refreshed = try await service.operations.refreshSession(
                account.tokens.refreshToken,
                device: .token(presenting: nil)
            )
            #expect(refreshed.user == account.user.id && refreshed.deviceToken == nil)
        }
    }

    @Test func `the twenty-first device takes the place of the one with the earliest use`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            var tokens: [String?] = []
            for _ in 0..<21 {
                service.clock.advance(seconds: 1)
                tokens.append(try await service.token(service.signIn(email).value))
            }
            #expect(try await service.methods(tokens[0], email) == nil)
            for token in tokens.dropFirst() { #expect(try await service.methods(token, email) != nil) }
            let listed = try await service.devices(account.tokens)
            #expect(listed.count == 20)
            #expect(listed.map(\.lastUsedAt) == listed.map(\.lastUsedAt).sorted(by: >))
        }
    }

    @Test func `racing sign-ins leave at most 20 devices, and each token that is listed works`() async throws {
        try await TestService.withTwo(settings: protected()) { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            let sessions = try await first.race(with: second, count: 48) { service, _ in
                try await service.signIn(email).value
            }
            let tokens = try await first.race(with: second, count: 48) { service, caller in
                try await service.token(sessions[caller])
            }
            let database = first.database
            #expect(try await first.deviceCount() == 20)
            #expect(try await database.count("SELECT count(DISTINCT slot) FROM devices") == 20)
            var known = 0
            for token in tokens where try await second.methods(token, email) != nil { known += 1 }
            #expect(known == 20, "each row has one token")
            #expect(try await first.devices(account.tokens).count == 20)
            #expect(try await database.inconsistencies() == [])
        }
    }

    @Test func `if many requests of one session register, there is one device, and all its tokens work`() async throws {
        try await TestService.withTwo(settings: protected()) { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            let tokens = try await first.race(with: second, count: 32) { service, _ in
                try await service.token(account)
            }
            #expect(try await first.deviceCount() == 1)
            for token in tokens { #expect(try await second.methods(token, email) != nil) }
        }
    }

    @Test func `a revocation is final, also if renewals and registrations race with it`() async throws {
        try await TestService.withTwo(settings: protected()) { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            let token = try await first.token(account)
            let id = try #require(try await first.devices(account.tokens).first).id
            first.clock.advance(seconds: 1)
            let revoked = try await first.race(with: second, count: 32) { service, caller in
                if caller % 4 == 3 {
                    _ = try await service.token(account, presenting: caller % 8 == 3 ? token : nil)
                    return false
                }
                return try await service.revoke(id, by: account.tokens).value
            }
            #expect(revoked.count(where: \.self) == 1)
            #expect(try await first.methods(token, email) == nil)
            #expect(try await first.token(account, presenting: token) == nil)
            #expect(try await first.devices(account.tokens).isEmpty)
            #expect(try await first.deviceCount() == 1, "the revocation")
        }
    }

    @Test func `racing revocations of many devices leave one time, and none of them known`() async throws {
        try await TestService.withTwo(settings: protected()) { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            let sessions = try await first.race(with: second, count: 12) { service, _ in
                let signedIn = try await service.signIn(email).value
                _ = try await service.token(signedIn)
                return signedIn
            }
            let listed = try await first.devices(account.tokens)
            #expect(listed.count == 12)
            first.clock.advance(seconds: 1)
            let outcomes = try await first.race(with: second, count: 36) { service, caller -> Bool? in
                let number = caller % 12
                if caller / 12 == 2 {
                    _ = try await service.token(sessions[number])
                    return nil
                }
                return try await service.revoke(listed[number].id, by: account.tokens).value
            }
            let revoked = outcomes.compactMap(\.self)
            #expect(revoked.count == 24)
            #expect(revoked.count(where: \.self) == 12, "of two revocations of a device, one finds it known")
            for session in sessions { #expect(try await second.token(session) == nil) }
            #expect(try await first.devices(account.tokens).isEmpty)
            #expect(try await first.deviceCount() == 1)
            #expect(try await first.database.count("SELECT count(DISTINCT created_at) FROM devices") == 1)
        }
    }

    @Test func `a registration that races with the end of all sessions leaves no known device`() async throws {
        try await TestService.withTwo(settings: protected()) { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            let tokens = try await first.race(with: second, count: 24) { service, caller in
                if caller == 7 {
                    _ = try await service.operations.endAllSessions(of: account.user.id, tenant: .project)
                    return nil as String?
                }
                return try await service.token(account)
            }
            for token in tokens { #expect(try await first.methods(token, email) == nil) }
            first.clock.advance(seconds: 1)
            #expect(try await first.devices(first.signIn(email).value.tokens).isEmpty)
        }
    }

    @Test func `a device that races with the deletion of its account leaves no row`() async throws {
        try await TestService.withTwo(settings: protected()) { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            _ = try await first.race(with: second, count: 24) { service, caller in
                if caller == 7 {
                    _ = try await service.delete(account.tokens.idToken)
                } else {
                    _ = try await service.token(account)
                }
            }
            #expect(try await first.deviceCount() == 0)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a merge keeps the survivor's devices and forgets the absorbed account's, also after its undo`()
        async throws
    {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let kept = try await service.signUp(email).value
            let goneEmail = service.newAddress()
            let gone = try await service.signUp(goneEmail).value
            for account in [kept, gone] { try await service.edit(account.user.id) { $0.prove(.emailCode) } }
            let keptToken = try await service.token(kept)
            let goneToken = try await service.token(gone)
            let merge = try await service.merge(
                kept.user.id,
                gone.user.id,
                [.email: .survivor, .password: .survivor]
            )
            #expect(try await service.methods(goneToken, goneEmail) == nil)
            #expect(try await service.methods(goneToken, email) == nil)
            #expect(
                try await service.database.count(
                    "SELECT count(*) FROM devices WHERE user_id = \(gone.user.id.rawValue)"
                ) == 0
            )
            let isKeptKnown = try await service.methods(keptToken, email) != nil
            let hasKeptSessions = try await service.lookUp(kept.tokens.idToken).denial == nil
            #expect(isKeptKnown == hasKeptSessions, "a device ends with all sessions, and not otherwise")
            _ = try await service.undo(merge.id).success()
            #expect(try await service.methods(goneToken, goneEmail) == nil)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `a registration that races with a merge leaves the absorbed account no device`() async throws {
        try await TestService.withTwo(settings: protected()) { first, second in
            let email = first.newAddress()
            let kept = try await first.signUp(email).value
            let gone = try await first.signUp(first.newAddress()).value
            for account in [kept, gone] { try await first.edit(account.user.id) { $0.prove(.emailCode) } }
            _ = try await first.race(with: second, count: 24) { service, caller in
                if caller == 7 {
                    _ = try await service.merge(
                        kept.user.id,
                        gone.user.id,
                        [.email: .survivor, .password: .survivor]
                    )
                } else {
                    _ = try await service.token(gone)
                }
            }
            #expect(try await first.deviceCount() == 0)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `an audit reads an account with devices, and finds nothing wrong`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            try await service.edit(account.user.id) { $0.prove(.emailCode) }
            let token = try await service.token(account)
            #expect(try await service.deviceCount() == 1)
            #expect(try await service.database.inconsistencies() == [])
            #expect(try await service.methods(token, email) != nil, "the audit changed nothing")
        }
    }

    @Test func `a wrong password on a known device counts for the device, until it is revoked`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let token = try #require(try await service.token(account))
            func closeToStrangers(_ networks: String) async throws {
                for number in 0..<50 {
                    let network = PasswordClient(network: "\(networks).\(number)")
                    _ = try await service.signIn(email, password: "guess", from: network)
                }
            }
            try await closeToStrangers("198.51.100")
            let elsewhere = PasswordClient(network: "203.0.113.9")
            #expect(try await service.signIn(email, from: elsewhere).denial != nil, "strangers are locked out")
            let device = PasswordClient(network: "203.0.113.9", deviceSecret: token)
            _ = try await service.signIn(email, from: device).value
            let id = try #require(try await service.devices(account.tokens).first).id
            #expect(try await service.revoke(id, by: account.tokens).value)
            // The sign-in reset the strangers' count.
            try await closeToStrangers("198.51.101")
            let other = PasswordClient(network: "203.0.113.77", deviceSecret: token)
            #expect(try await service.signIn(email, from: other).denial != nil)
        }
    }

    @Test func `a token and a secret of one device count wrong passwords together`() async throws {
        try await TestService.with(settings: protected()) { service in
            let account = try await service.signUp(service.newAddress()).value
            let token = try #require(try await service.token(account))
            let secret = try service.operations.newDeviceSecret(of: account)
            let byToken = try await service.operations.source(
                of: PasswordClient(network: "203.0.113.9", deviceSecret: token),
                tenant: .project
            )
            let bySecret = try await service.operations.source(
                of: PasswordClient(network: "203.0.113.9", deviceSecret: secret),
                tenant: .project
            )
            #expect(byToken.device?.id == bySecret.device?.id && byToken.device != nil)
        }
    }

    @Test func `the purge deletes a device when it expires`() async throws {
        try await TestService.with(settings: protected()) { service in
            let email = service.newAddress()
            _ = try await service.token(service.signUp(email).value)
            service.clock.advance(seconds: 86_400)
            _ = try await service.token(service.signIn(email).value)
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 7 * 86_400,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            service.clock.advance(seconds: 89 * 86_400 - 1)
            #expect(try await purge.run().rows[.devices] == 0)
            service.clock.advance(seconds: 1)
            #expect(try await purge.run().rows[.devices] == 1)
            #expect(try await service.deviceCount() == 1)
            service.clock.advance(seconds: 86_400)
            #expect(try await purge.run().rows[.devices] == 1)
        }
    }

    @Test func `a repeated revocation gets the same answer`() async throws {
        try await TestService.with(settings: protected()) { service in
            let account = try await service.signUp(service.newAddress()).value
            _ = try await service.token(account)
            let id = try #require(try await service.devices(account.tokens).first).id
            let key = try #require(IdempotencyKey("k1"))
            let request = ChangeRequest<Bool>(
                tenant: .project,
                idempotent: IdempotentRequest(key: key, credential: "", route: "DELETE", request: id.text) { wasKnown in
                    Array("\(wasKnown)".utf8)
                }
            )
            let idToken = account.tokens.idToken
            #expect(try await service.operations.revokeDevice(id, idToken: idToken, request))
            let again = try await outcome(await service.operations.revokeDevice(id, idToken: idToken, request))
            guard case .denied(.answeredBefore(let stored)) = again else {
                Issue.record("\(again)")
                return
            }
            #expect(stored == Array("true".utf8))
        }
    }
}

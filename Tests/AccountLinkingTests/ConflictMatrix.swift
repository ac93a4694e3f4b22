import AccountLinking
import Testing

/// The promise to clients in one table: an account that owns an address, and five ways to sign in with it.
struct ConflictMatrix {
    struct Line: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let account: Account?
        let trusted: Rule
        let untrusted: Rule
        let link: Rule
        let signUp: Rule
        let password: Rule

        init(_ description: String, _ account: Account?, _ rules: (Rule, Rule, Rule, Rule, Rule)) {
            self.testDescription = description
            self.account = account
            (self.trusted, self.untrusted, self.link, self.signUp, self.password) = rules
        }
    }

    // I9 and M3 take over, I7 and M2 sign in, I11 is a conflict, P… refuses because the address exists, S6 signs in.
    static let lines = [
        Line(
            "password, unverified",
            .fixture("m", email: ann, password: true),
            (.takeoverByProvider, .untrustedEmailConflict, .takeoverByEmailLink, .signUpEmailExists, .signInByPassword)
        ),
        Line(
            "password, verified",
            .fixture("m", email: ann, proof: .emailCode, password: true),
            (.linkByProvenEmail, .untrustedEmailConflict, .signInByEmailLink, .signUpEmailExists, .signInByPassword)
        ),
        Line(
            "password, verified by an administrator",
            .fixture("m", email: ann, proof: .administrator, password: true),
            (.linkByProvenEmail, .untrustedEmailConflict, .signInByEmailLink, .signUpEmailExists, .signInByPassword)
        ),
        Line(
            "e-mail link only",
            .fixture("m", email: ann, proof: .emailLink, emailLink: true),
            (.linkByProvenEmail, .untrustedEmailConflict, .signInByEmailLink, .signUpEmailExists, .wrongPassword)
        ),
        Line(
            "untrusted provider only",
            .fixture("m", email: ann, providers: [.facebook: "f"]),
            (
                .takeoverByProvider, .untrustedEmailConflict, .takeoverByEmailLink, .signUpEmailOfProviderAccount,
                .wrongPassword
            )
        ),
        Line(
            "trusted provider only",
            .fixture("m", email: ann, proof: .provider(.yahoo), providers: [.yahoo: "a"]),
            (
                .linkByProvenEmail, .untrustedEmailConflict, .signInByEmailLink, .signUpEmailOfProviderAccount,
                .wrongPassword
            )
        ),
        Line(
            "provider that is trusted for new addresses only",
            .fixture("m", email: ann, proof: .provider(.apple), providers: [.apple: "a"]),
            (
                .takeoverFromFormerHolder, .untrustedEmailConflict, .mailedLinkFromFormerHolder,
                .signUpEmailOfProviderAccount, .wrongPassword
            )
        ),
        Line(
            "untrusted provider and password, unverified",
            .fixture("m", email: ann, password: true, providers: [.facebook: "f"]),
            (.takeoverByProvider, .untrustedEmailConflict, .takeoverByEmailLink, .signUpEmailExists, .signInByPassword)
        ),
        Line(
            "untrusted provider linked to a verified account",
            .fixture("m", email: ann, proof: .provider(.yahoo), providers: [.yahoo: "a", .facebook: "f"]),
            (
                .linkByProvenEmail, .untrustedEmailConflict, .signInByEmailLink, .signUpEmailOfProviderAccount,
                .wrongPassword
            )
        ),
        Line(
            "phone and unverified e-mail",
            .fixture("m", email: ann, phone: true),
            (
                .takeoverByProvider, .untrustedEmailConflict, .takeoverByEmailLink, .signUpEmailOfBareAccount,
                .wrongPassword
            )
        ),
        Line(
            "no account has the address",
            nil,
            (.signUpWithEmail, .signUpWithEmail, .signUpByEmailLink, .signUpByPassword, .passwordSignInUnknownEmail)
        ),
        Line(
            "custom token, unverified",
            .fixture("m", email: ann, customTokens: true),
            (
                .takeoverByProvider, .untrustedEmailConflict, .takeoverByEmailLink, .signUpEmailOfBareAccount,
                .wrongPassword
            )
        ),
    ]

    @Test(arguments: lines)
    func `an account and five sign-ins with its address`(line: Line) {
        func byProvider(_ credential: IncomingCredential) -> Rule {
            SignInWithIdpQuestion(
                identityOwner: nil,
                emailOwner: line.account,
                credential: credential,
                isProviderEnabled: true,
                createsUsers: true,
                secondFactorProvenBy: nil
            ).decide(LinkPolicy()).rule
        }
        let microsoft = incoming(.microsoft, "m", address("ann@outlook.com"), flagged: true)
        let saml = incoming(provider("saml.work"), "s", ann)
        let workspace = incoming(.google, "g", bob, flagged: true, hostedDomain: "example.com")
        for credential in [IncomingCredential.trusted, microsoft, saml, workspace] {
            #expect(byProvider(credential) == line.trusted)
        }
        let foreignGoogle = incoming(.google, "g", bob, flagged: true)
        let unverifiedOpenID = incoming(provider("oidc.work"), "o", ann, flagged: false)
        for credential in [IncomingCredential.untrusted, foreignGoogle, unverifiedOpenID] {
            #expect(byProvider(credential) == line.untrusted)
        }
        #expect(
            SignInWithEmailLinkQuestion(
                email: ann,
                owner: line.account,
                target: nil,
                isSessionRecent: false,
                secondFactorProvenBy: nil
            ).decide(LinkPolicy()).rule == line.link
        )
        #expect(
            SignUpRequest.password(ann).decide(LinkPolicy(), emailOwner: line.account).rule == line.signUp
        )
        #expect(
            SignInWithPasswordQuestion(
                owner: line.account,
                isLocked: false,
                passwordMatches: true,
                secondFactorProvenBy: nil
            ).decide(LinkPolicy()).rule == line.password
        )
    }
}

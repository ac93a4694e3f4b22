/// What a rule says, in the words of docs/decisions.md (a test compares).
package struct RuleText: Sendable, Hashable {
    /// Under which circumstances it is the rule, after those before it in its table.
    package let condition: String
    package let outcome: String

    fileprivate init(_ condition: String, _ outcome: String) {
        self.condition = condition
        self.outcome = outcome
    }
}

extension RuleText {
    /// Both in a sentence for somebody who has not got the tables at hand: letters stand for accounts there.
    package var sentence: String {
        Self.spelledOut("\(outcome) (\(condition))")
    }

    private static let letters: [Character: String] = [
        "F": "the owner of the identity", "M": "the owner of the address", "T": "the account of the session",
        "O": "the account with the address asked for", "N": "the account with the number",
    ]

    private static func spelledOut(_ text: String) -> String {
        var result = ""
        var word = ""
        for character in text + " " {
            if character.isLetter || character.isNumber {
                word.append(character)
                continue
            }
            if word.count == 1, let letter = word.first, let name = letters[letter] {
                // "F's own" and "F" alike.
                result += name
            } else {
                result += word
            }
            result.append(character)
            word = ""
        }
        return String(result.dropLast())
    }
}

extension Rule {
    /// What the rule says. Total: whoever adds a rule says what it does.
    package var text: RuleText {
        switch self {
        case .i0:
            RuleText("the provider is not enabled, or has another issuer by now", "refused: operation not allowed")
        case .i1: RuleText("F is disabled", "refused: user disabled")
        case .i3: RuleText("F must show its second factor", "second factor; nothing is written")
        case .i2:
            RuleText(
                "F",
                """
                signed in to F, whoever owns the address; F's own address becomes proven if a trusted provider names \
                it
                """
            )
        case .i12: RuleText("reauthentication; M, untrusted", "refused: user not found; never a conflict")
        case .i6: RuleText("reauthentication", "refused: user not found; nothing is created or linked")
        case .i11:
            RuleText(
                "M, untrusted",
                "conflict: account exists with different credential, with the providers of M; nothing is written"
            )
        case .i10: RuleText("M is disabled", "refused: user disabled")
        case .i13: RuleText("M must show its second factor", "second factor; I7 to I9 wait for it")
        case .i9:
            RuleText(
                "M is not proven",
                "takeover (below) by the identity, which is linked and brings its profile"
            )
        case .takeoverFromFormerHolder:
            RuleText(
                "M is proven only by a provider whose word counts for new addresses (verifying-new)",
                "takeover (below) by the identity, as I9"
            )
        case .subjectDiffers:
            RuleText(
                "M has another subject of this provider, policy: conflict",
                "conflict: account exists with different credential; a session of M settles it"
            )
        case .takeoverBySubject:
            RuleText(
                "M has another subject of this provider, policy: takeover",
                "takeover (below) by the identity, which is linked and brings its profile"
            )
        case .subjectMoved:
            RuleText(
                "M has another subject of this provider, policy: move",
                "as I8, for a migration that the operator has planned"
            )
        case .i8:
            RuleText(
                "M has another subject of this provider",
                "signed in to M, whose old subject is replaced; the answer says the address was recycled"
            )
        case .i7: RuleText("M", "signed in to M; the identity is linked and fills blanks in the profile")
        case .i14: RuleText("clients may not sign up", "refused: admin only")
        case .i4: RuleText("no address", "new account without one")
        case .i15: RuleText("duplicates are allowed", "new account; the address stays in the provider's row")
        case .i5: RuleText("otherwise", "new account with the address, proven if the provider is trusted")
        case .l9:
            RuleText("the provider is not enabled, or has another issuer by now", "refused: operation not allowed")
        case .l0: RuleText("T is disabled", "refused: user disabled")
        case .linkNeedsRecentSignIn:
            RuleText("the session of T is old, and policy asks for a recent one", "refused: sign in again")
        case .l2: RuleText("F is T", "refused: already linked; no pending credential")
        case .l1: RuleText("F is another account", "conflict: credential already in use by F")
        case .l3: RuleText("one account per address; M is another account", "conflict: address already in use by M")
        case .l8:
            RuleText(
                "T has another subject of this provider",
                "conflict: credential already in use by T; nothing is replaced"
            )
        case .subjectReplacedByOwner:
            RuleText(
                "T has another subject of this provider, and the credential waits in a conflict that a sign-in opened about T",
                "the new subject replaces the old one, as T's owner wants; the profile stays"
            )
        case .l6:
            RuleText(
                "T must show its second factor and the session does not carry it",
                "second factor; nothing is written"
            )
        case .l7: RuleText("T is anonymous", "as L4 or L5; T is a real account from now on, under its own id")
        case .l4:
            RuleText(
                "one account per address",
                """
                linked; T without an address gets the provider's, proven if trusted; none where T had one that was \
                taken off (or, by policy, has a second factor) and the provider is not trusted or its word counts for \
                new addresses alone; T's own address becomes proven if a trusted provider names it; the profile stays
                """
            )
        case .l5: RuleText("duplicates are allowed", "as L4, but no address is copied")
        case .m0: RuleText("the method is not enabled", "refused: operation not allowed")
        case .m4: RuleText("O or T is disabled", "refused: user disabled")
        case .m7: RuleText("T, and O is another account", "refused: address exists")
        case .m5: RuleText("the account must show its second factor", "second factor; nothing is written")
        case .m8: RuleText("T is anonymous, no O", "the address is set on T, proven")
        case .mailedLinkNeedsRecentSignIn:
            RuleText(
                "T is not anonymous and not O, the session is old, and policy asks for a recent one",
                "refused: sign in again"
            )
        case .mailedLinkFromFormerHolder:
            RuleText(
                "O is proven only by a provider whose word counts for new addresses (verifying-new)",
                "takeover by the link, as M3"
            )
        case .m10:
            RuleText(
                "T has another address, or had one that was taken off, no O, and the session is old",
                "refused: sign in again"
            )
        case .m6:
            RuleText(
                "T",
                """
                the address is set or proven on T; replacing one remembers and tells the first, and ends other \
                sessions
                """
            )
        case .m2: RuleText("O is proven", "signed in to O, which keeps all it has")
        case .m3: RuleText("O is not proven", "takeover by the link")
        case .m9: RuleText("clients may not sign up", "refused: admin only")
        case .m1: RuleText("otherwise", "new account with the address, proven")
        case .n0: RuleText("the method is not enabled", "refused: operation not allowed")
        case .n4: RuleText("T, or without T the account N, is disabled", "refused: user disabled")
        case .n2:
            RuleText(
                "reauthentication, and nobody has the number, or T has not",
                "refused: user not found; nothing is created or attached"
            )
        case .numberNeedsRecentSignIn:
            RuleText("T, not N, the session is old, and policy asks for a recent one", "refused: sign in again")
        case .n8:
            RuleText(
                "T, and N is another account, by a code",
                "refused: number exists; the code is used up, and a temporary proof is given for it"
            )
        case .n9: RuleText("the same by a temporary proof", "refused: number exists; the proof stays good")
        case .n5: RuleText("the account has a second factor", "refused: unsupported first factor")
        case .n7: RuleText("N is T", "signed in to T; nothing is written")
        case .n13:
            RuleText(
                "T is anonymous",
                "the number is set on T; T is a real account from now on, under its own id"
            )
        case .n6: RuleText("T", "the number is set on T, in place of another, which is free again; sessions stay")
        case .n3: RuleText("N, by a code", "signed in to N, which keeps all it has")
        case .n10: RuleText("N, by a temporary proof", "as N3")
        case .n12: RuleText("clients may not sign up", "refused: admin only")
        case .n1: RuleText("otherwise", "new account with the number")
        case .n14:
            RuleText(
                "the project sends no messages to where the number is (smsRegionConfig)",
                "refused: operation not allowed"
            )
        case .n15: RuleText("otherwise", "a code is sent, within the limits (phone.md)")
        case .p14: RuleText("anonymous, and that is not enabled", "refused: admin only")
        case .p9: RuleText("password, and that is not enabled", "refused: operation not allowed")
        case .p10: RuleText("a new account, and clients may not sign up", "refused: admin only")
        case .p13: RuleText("anonymous", "new account with nothing")
        case .p6:
            RuleText(
                "the address belongs to an account with providers and no password or link",
                "refused: address exists"
            )
        case .p7:
            RuleText(
                "the address belongs to an account with no method at all, as after unlinking its password",
                "refused: address exists"
            )
        case .p1:
            RuleText(
                "the address belongs to any other account",
                "refused: address exists, with enumeration protection too"
            )
        case .p5:
            RuleText(
                "free address, duplicates allowed",
                "new account, also when the address stands in somebody's provider row"
            )
        case .p11: RuleText("free address", "new account; the address is not proven")
        case .p15: RuleText("T is disabled", "refused: user disabled")
        case .p16: RuleText("the session of T is old", "refused: sign in again, before the address is looked at")
        case .p3: RuleText("T, and the address belongs to another account", "refused: address exists")
        case .p2:
            RuleText(
                "T, and the address is T's own",
                "the password is set; the address stays as proven as it was; other sessions end"
            )
        case .p17:
            RuleText(
                "T has another address, or had one that was taken off, the one asked for is free, addresses protected",
                "refused: verify the new address first, as in U1"
            )
        case .passwordNeedsProvenAddress:
            RuleText(
                "T has a second factor, the address is free, and policy keeps unproven addresses off such accounts",
                "refused: unverified address"
            )
        case .p4:
            RuleText(
                "T, and the address is free",
                """
                address (not proven) and password are set on T; the first address is remembered and told; other \
                sessions end
                """
            )
        case .p8:
            RuleText(
                "an administrator asks for an id, number or address that is taken",
                "refused: duplicate id, number exists, address exists, in this order"
            )
        case .p12: RuleText("an administrator asks for anything else", "created; policy about clients does not apply")
        case .s1: RuleText("the method is not enabled", "refused: operation not allowed")
        case .s2: RuleText("no O", "refused: address not found; protected: invalid login credentials")
        case .s3: RuleText("O is disabled", "refused: user disabled")
        case .s4:
            RuleText(
                "O has no password, or another one",
                "refused: invalid password; protected: invalid login credentials"
            )
        case .s5: RuleText("O must show its second factor", "second factor")
        case .s6: RuleText("otherwise", "signed in")
        case .s7:
            RuleText(
                "too many wrong passwords for the address (before S4; before S2 where addresses are protected)",
                "refused: too many attempts"
            )
        case .c1: RuleText("no account has the uid", "new account with that uid; no address is ever matched")
        case .c2: RuleText("the account is disabled", "refused: user disabled")
        case .c4:
            RuleText("no account has the uid, and one that had it was merged into another", "refused: user merged")
        case .c3: RuleText("otherwise", "signed in, without second factor: the backend answers for the user")
        case .r0: RuleText("passwords are not enabled", "refused: operation not allowed")
        case .r5:
            RuleText(
                "the account is gone or has another address than the code was sent to",
                "refused: invalid code"
            )
        case .r7: RuleText("the account is disabled", "refused: user disabled")
        case .r1: RuleText("no provider, no number", "password set, address proven, sessions end")
        case .r6:
            RuleText(
                "proven before, and policy leaves providers alone (concord.passwordReset.unlinksProviders off)",
                "as R1; providers and number stay"
            )
        case .r4:
            RuleText(
                "a number, no provider",
                "as R1; the number's claim is released, the number stays as unproven data"
            )
        case .r2: RuleText("providers and a password", "as R4; every provider is unlinked")
        case .r3: RuleText("providers and no password", "as R2")
        case .u0: RuleText("the account is disabled", "refused: user disabled")
        case .u1: RuleText("by the client, addresses protected", "refused: verify the new address first")
        case .u2: RuleText("by the client, the address it has", "nothing changes")
        case .u6: RuleText("by the client, the session is old", "refused: sign in again")
        case .secondFactorNeedsProvenAddress:
            RuleText(
                "by the client, the account has a second factor, and policy keeps unproven addresses off such accounts",
                "refused: unverified address"
            )
        case .u3: RuleText("by the client, O is another account", "refused: address exists")
        case .u7:
            RuleText(
                "the same with duplicates allowed",
                "refused: address exists; top-level addresses are unique in both modes"
            )
        case .u5: RuleText("by the client, the account has none", "set, not proven; sessions end, new tokens")
        case .u4:
            RuleText(
                "by the client, otherwise",
                "set, not proven; the first address is remembered; sessions end, new tokens"
            )
        case .u12:
            RuleText(
                "by code: the account is gone, or its address or session epoch is not what the code was made for",
                "refused: invalid code"
            )
        case .u13: RuleText("by code: the account is disabled", "refused: user disabled")
        case .u9: RuleText("by code, new address: O is another account", "refused: address exists; the code is used up")
        case .u11:
            RuleText(
                "by code, new address: otherwise",
                "set, proven; the first address is remembered; sessions end, no tokens"
            )
        case .decoyGivesWay:
            RuleText(
                "by code, former address: O is another account, made after the code, whose address nobody has shown to own",
                "as U14, U28 or U29; O gives the address up"
            )
        case .u10:
            RuleText(
                "by code, former address: O is another account",
                "refused: address exists; the code stays usable"
            )
        case .recoveryOfStrangersAccount:
            RuleText(
                "by code, former address: nobody had shown to own it, and the account must show its second factor",
                "refused: invalid code; who proves the address gets it"
            )
        case .recoverySuspendsAdditions:
            RuleText(
                "by code, former address: proven before it was replaced, and methods or second factors are no older than the code",
                "as U14; those methods are suspended, those second factors removed"
            )
        case .takeoverByRecovery:
            RuleText(
                "by code, former address: nobody had shown to own it, nor has since",
                "takeover, as M3, with the address set; sessions end, no tokens"
            )
        case .u14: RuleText("by code, former address: otherwise", "set, proven; sessions end, no tokens")
        case .addressReserved:
            RuleText(
                "any decision that would give an account an address that is reserved for another",
                "refused: address exists"
            )
        case .revertOfLostAccount:
            RuleText("the account is gone, or was made anew after the code", "refused: invalid code")
        case .revertOfDisabledAccount: RuleText("the account is disabled", "refused: user disabled")
        case .revertSettled:
            RuleText(
                "a reset by the same mailbox, an administrator or an earlier code has settled every method since",
                "refused: invalid code"
            )
        case .revertInPart:
            RuleText(
                "another account has a number or an identity that would come back",
                "as U23; that method stays away"
            )
        case .revertOfNothing: RuleText("every method is as it was before the change", "every session ends")
        case .methodsReverted:
            RuleText(
                "otherwise",
                "the methods are as they were before the change; every session ends, no tokens"
            )
        case .credentialAddressTaken:
            RuleText(
                "a third account has the credential's address, one account per address",
                "refused: address exists"
            )
        case .v1:
            RuleText(
                "the account is gone or has another address than the code was sent to",
                "refused: invalid code"
            )
        case .v2: RuleText("the account is disabled", "refused: user disabled")
        case .v3:
            RuleText(
                """
                confirmed, and proven already (if only by a word for new addresses, not from the session that asked for \
                the code)
                """,
                "nothing changes"
            )
        case .v4: RuleText("confirmed, and a first proof ends no sessions by policy", "proven; sessions stay")
        case .firstProofBySession:
            RuleText("confirmed from the session that asked for the code", "proven; sessions stay")
        case .firstProofElsewhere:
            RuleText(
                "confirmed otherwise",
                "proven; sessions end; new tokens for another session that the code came with"
            )
        case .disownedTooLate: RuleText("disowned, and proven already", "refused: invalid code")
        case .disownedBehindFactor:
            RuleText(
                "disowned, and the account must show its second factor",
                "the account gives the address up; the password into quarantine, sessions end, codes and open conflicts void"
            )
        case .disowned: RuleText("disowned", "takeover: as M3, proven by the code; no tokens")
        case .w1: RuleText("passwords are not enabled", "refused: operation not allowed")
        case .w2: RuleText("the account is disabled", "refused: user disabled")
        case .w3: RuleText("the session is old", "refused: sign in again")
        case .w4: RuleText("otherwise", "set; sessions end, new tokens")
        case .k4: RuleText("by the client, the account is disabled", "refused: user disabled")
        case .k1: RuleText("the account has nothing of what is to go", "nothing changes")
        case .k5: RuleText("by the client, the address is to go and the session is old", "refused: sign in again")
        case .k2:
            RuleText(
                """
                by the client, a method would go and none that works (below) be left; on Concord's own routes, and \
                on the others where policy keeps the last
                """,
                "refused: last sign-in method"
            )
        case .k6: RuleText("on Concord's own routes, the session is old", "refused: sign in again")
        case .unlinkNeedsRecentSignIn:
            RuleText(
                "by the client, a method that works would go, the session is old, and policy asks for a recent one",
                "refused: sign in again"
            )
        case .k3:
            RuleText(
                "otherwise",
                """
                gone; sessions stay; unlinking the password keeps the address and its claim; an address that the client takes \
                off is remembered and told
                """
            )
        case .b1: RuleText("the account is disabled", "refused: user disabled")
        case .b2:
            RuleText(
                "nothing is suspended under that name, or its time is over, or the account has the method",
                "refused: method not quarantined"
            )
        case .b3: RuleText("passwords are not enabled, or the account has no address", "refused: operation not allowed")
        case .b4: RuleText("the session is old", "refused: sign in again")
        case .b5: RuleText("too many wrong passwords for the address", "refused: too many attempts")
        case .b6: RuleText("another password", "refused: invalid password; it counts as at a sign-in")
        case .b7: RuleText("otherwise", "the password is the account's again; sessions stay")
        case .b8: RuleText("the owner gives a suspended method up, after B1, B2 and B4", "it is deleted")
        case .f1: RuleText("the account is disabled", "refused: user disabled")
        case .f2: RuleText("name and picture are as they are to be", "nothing changes")
        case .f3: RuleText("otherwise", "the profile is replaced; sessions stay")
        case .d1: RuleText("there is no such account", "refused: user not found")
        case .d2: RuleText("by the client, disabled", "refused: user disabled")
        case .d3: RuleText("by the client, the session is old", "refused: sign in again")
        case .d4: RuleText("by the client, and clients may not", "refused: admin only")
        case .d5: RuleText("otherwise", "deleted; every identifier is free")
        case .x1: RuleText("there is no such account", "refused: user not found")
        case .x2: RuleText("the address belongs to another account", "refused: address exists")
        case .x3: RuleText("the number belongs to another account", "refused: number exists")
        case .x4: RuleText("the identity belongs to another account", "refused: already linked")
        case .x6: RuleText("all is so already", "nothing changes")
        case .x5:
            RuleText(
                "otherwise",
                """
                changed; a new address is not proven unless said so; a new address or password, disabling and \
                revoking end sessions
                """
            )
        case .z1:
            RuleText(
                "the row cannot be read: no id, an address that is none, a hash of another algorithm",
                "left out, and why"
            )
        case .z2: RuleText("a row before it has the same id", "left out")
        case .z3: RuleText("it has second factors, and no address or none that is proven", "left out")
        case .z4: RuleText("an identity belongs to another account", "left out")
        case .z5: RuleText("the number belongs to another account", "left out")
        case .z6: RuleText("the address belongs to another account", "left out")
        case .z7: RuleText("the account is there, and is what the row says", "nothing changes")
        case .z8: RuleText("the account is there, and may not be overwritten", "left out")
        case .z9:
            RuleText(
                "the account is there",
                "it becomes what the row says; what the row has not is gone; every session ends"
            )
        case .z11: RuleText("an account with that id was merged into another", "left out")
        case .z10: RuleText("otherwise", "created")
        case .o1: RuleText("the repair is of an account, and it is gone", "left out")
        case .o2: RuleText("the repair is of rows that named no account, and there is one now", "left out")
        case .o3:
            RuleText(
                "the account has changed since the plan was made, by others than the plan",
                "left out; plan again"
            )
        case .o4:
            RuleText(
                "the repair claims what another account owns by now, or there is nothing of the kind to repair",
                "left out"
            )
        case .o5: RuleText("the repair would take the last method that works", "left out")
        case .o6: RuleText("otherwise", "the repair is applied, and kept in the journal")
        case .o7:
            RuleText(
                "the repair is to be taken back, and somebody has changed since what it changed",
                "it stays; the clash is told"
            )
        case .o8:
            RuleText(
                "the repair is to be taken back",
                "everything it changed is as before, but for sessions, codes and conflicts, which stay gone"
            )
        case .g1: RuleText("the project lets nobody enrol such a factor (mfa)", "refused: operation not allowed")
        case .g2: RuleText("the account is disabled", "refused: user disabled")
        case .g3:
            RuleText(
                "the session is anonymous, or signed in by a number, a custom token or Game Center",
                "refused: unsupported first factor"
            )
        case .g4:
            RuleText("the address is not proven, or only by a word for new addresses", "refused: unverified e-mail")
        case .g5:
            RuleText(
                "the account must show its second factor and the session does not carry it",
                "refused: sign in again"
            )
        case .g6: RuleText("the sign-in is too old", "refused: sign in again")
        case .g7: RuleText("the number is a second factor of the account", "refused: second factor exists")
        case .g8: RuleText("the account has five", "refused: second factor limit")
        case .g9:
            RuleText(
                "otherwise",
                """
                enrolled; the address is mailed a way back, every other session ends, and the answer's session has \
                shown it
                """
            )
        case .g10: RuleText("the account has no such factor", "refused: not found")
        case .g11: RuleText("otherwise", "withdrawn; every other session ends")
        case .g12: RuleText("the account would have some, and its address is not proven", "refused: unverified e-mail")
        case .g13: RuleText("there are more than five", "refused: second factor limit")
        case .g14: RuleText("otherwise", "replaced; sessions end where more than names changed")
        case .g15: RuleText("the account, the factor or the address is gone or another", "refused: invalid code")
        case .g16: RuleText("the account is disabled", "refused: user disabled")
        case .g17: RuleText("otherwise", "that factor goes and every session ends")
        case .g18: RuleText("the project sends no messages to where the number is", "refused: operation not allowed")
        case .g19: RuleText("otherwise", "a code is sent, within the limits (phone.md)")
        case .g20:
            RuleText(
                """
                the account is gone, its sessions have ended, or that of a link has, or what was shown first is \
                somebody else's by now
                """,
                "refused: invalid pending credential"
            )
        case .g21: RuleText("the account is disabled", "refused: user disabled")
        case .g22:
            RuleText(
                "otherwise",
                """
                the code is checked; what the first factor amounts to is asked again, with the second one proven, \
                and applied
                """
            )
        case .a1: RuleText("ID token: the account is gone", "refused: user not found")
        case .a2: RuleText("ID token: of another session epoch", "refused: token expired")
        case .a3: RuleText("ID token: issued in a second before validSince", "refused: token expired")
        case .a4: RuleText("ID token: the account is disabled", "refused: user disabled")
        case .a5: RuleText("ID token: otherwise", "good")
        case .t1: RuleText("refresh token: the account is gone", "refused: user not found")
        case .t2: RuleText("refresh token: the session is gone or of another epoch", "refused: token expired")
        case .t3: RuleText("refresh token: started in a second before validSince", "refused: token expired")
        case .t4: RuleText("refresh token: the account is disabled", "refused: user disabled")
        case .t5: RuleText("refresh token: otherwise", "good")
        case .sessionEnded: RuleText("ID token: its session was ended", "refused: token expired")
        case .sessionUnused:
            RuleText(
                "either: the session was not used for concord.sessions.inactivitySeconds",
                "refused: token expired"
            )
        case .sessionTooOld:
            RuleText("either: the session is concord.sessions.absoluteSeconds old", "refused: token expired")
        case .sessionsEndedAlready: RuleText("sessions to be ended: there are none", "nothing changes")
        case .sessionsEndedByRequest:
            RuleText(
                "sessions to be ended: otherwise",
                """
                they end; where all of them do, so does every ID token; if the user asks, open conflicts are void, and \
                mailed codes but those that take something back (where a session ends itself, those alone that change \
                the address)
                """
            )
        case .y1: RuleText("the handle names none", "invalid")
        case .y2: RuleText("it was used, or is void", "invalid")
        case .y3: RuleText("its time is over", "invalid")
        case .y4: RuleText("it is of another tenant", "invalid")
        case .y5: RuleText("it came with a session of another account than the conflict's", "invalid")
        case .y7: RuleText("its provider has another issuer by now", "invalid")
        case .y6: RuleText("otherwise, without a session too", "usable; only success closes it")
        case .q1: RuleText("the handle names none, or one of another tenant", "refused: unknown")
        case .q2: RuleText("it is resolved, declined or superseded", "refused: closed")
        case .q3: RuleText("its time is over", "refused: expired")
        case .q15:
            RuleText(
                "a mail is asked for, and policy lets none settle what was brought, whoever the account is",
                "refused: proof not offered"
            )
        case .q10: RuleText("a mail is asked for, and five were sent", "refused: too many attempts")
        case .q16:
            RuleText(
                "a mail is asked for, and ten were sent about the account within the hour, whatever the conflict",
                "refused: too many mails"
            )
        case .q11:
            RuleText(
                "a mail is asked for otherwise",
                "a link and a code are mailed; what was mailed before is void"
            )
        case .q4: RuleText("an answer comes, and nothing was asked for, or it is proven already", "refused: unproven")
        case .q5: RuleText("the proof's quarter of an hour is over", "refused: proof expired")
        case .q6: RuleText("five wrong answers were given", "refused: too many attempts; the right one counts no more")
        case .q7: RuleText("account, address or configuration is not what it was", "refused: proof stale")
        case .q8: RuleText("the answer is right", "proven")
        case .q9: RuleText("the answer is wrong", "counted, and refused")
        case .q12: RuleText("a session of another account", "refused: unproven")
        case .q13: RuleText("a session whose sign-in is too old", "refused: sign in again")
        case .q14: RuleText("a session of the account, from a recent sign-in", "proven")
        case .j1: RuleText("the account is gone", "refused: unknown")
        case .j2: RuleText("it is not proven, or by somebody else", "refused: unproven")
        case .j3: RuleText("the proof's time is over", "refused: proof expired")
        case .j4: RuleText("account, address or configuration is not what it was", "refused: proof stale")
        case .j5:
            RuleText("the provider is not enabled, or has another issuer by now", "refused: operation not allowed")
        case .j6: RuleText("the account is disabled", "refused: user disabled")
        case .j7: RuleText("the account has a second factor", "refused: second factor required")
        case .j14:
            RuleText(
                """
                policy does not let a proof of this kind settle a conflict of this provider with the account's \
                methods
                """,
                "refused: proof not offered"
            )
        case .j8: RuleText("the identity is the account's already", "sign in; the conflict is resolved")
        case .j9: RuleText("the identity is another account's", "refused: already linked")
        case .subjectReplacedAfterProof:
            RuleText(
                "the account has another subject of this provider, proven by a session, policy: conflict",
                "the new subject replaces the old one; sign in"
            )
        case .j10: RuleText("the account has another subject of this provider", "refused; nothing is replaced")
        case .j11:
            RuleText(
                "proven by mail, and nobody had shown to own the address before",
                "takeover, as M3; link; sign in"
            )
        case .j12: RuleText("otherwise", "link, as L4; sign in")
        case .j13: RuleText("whoever holds the handle turns the conflict down", "declined")
        case .declinedByOperator: RuleText("an administrator turns the conflict down", "declined")
        case .j15:
            RuleText(
                """
                by the next sign-in: proven by mail, and nobody had shown to own the address before, or the account has \
                another subject of this provider
                """,
                "stays proven: who signs in need not be who reads the mail, to whom J11 is left"
            )
        case .e1:
            RuleText(
                "both are one account",
                "refused: same account"
            )
        case .e2:
            RuleText(
                "one of the accounts does not exist",
                "refused: account not found"
            )
        case .e14:
            RuleText(
                "asked by owners, and a session of one of them has ended, as by a takeover",
                "refused: token expired"
            )
        case .e3:
            RuleText(
                "one of them is disabled",
                "refused: account disabled"
            )
        case .e4:
            RuleText(
                "asked by owners, and the sign-in of one of the sessions is old",
                "refused: sign in again"
            )
        case .e5:
            RuleText(
                """
                asked by owners, and an account has a second factor that its session has not shown
                """,
                "refused: second factor required"
            )
        case .e6:
            RuleText(
                "asked by owners, and custom attributes would be chosen or given up",
                "refused: an administrator is needed"
            )
        case .e15:
            RuleText(
                "asked by owners, and a mail can still take back what was done to the account that goes",
                "refused: an administrator is needed"
            )
        case .e7:
            RuleText(
                "something is chosen that neither account has",
                "refused: unknown choice"
            )
        case .e8:
            RuleText(
                """
                both have what an account has but once and nobody has chosen, or a password is under an address \
                that nobody has shown to have
                """,
                "the choices to be made; nothing is written"
            )
        case .e16:
            RuleText(
                """
                asked by owners, addresses protected, and an address that nobody has shown to have, or only by a word \
                for new addresses, would be taken where there is, or was, another
                """,
                "refused: unverified e-mail"
            )
        case .e9:
            RuleText(
                "there would be more than five second factors",
                "refused: too many second factors"
            )
        case .e10:
            RuleText(
                "a second factor of each has the same name",
                "refused: second factor repeated"
            )
        case .e11:
            RuleText(
                "there would be second factors, and no address that is proven by more than a word for new addresses",
                "refused: unverified e-mail"
            )
        case .e12:
            RuleText(
                "no method to sign in with would be left",
                "refused: no method left"
            )
        case .e13:
            RuleText(
                "otherwise",
                """
                merged: the account that stays has what was chosen and everything the other had alone; the \
                other's sessions end, its own as well where its password or second factors change
                """
            )
        case .h1:
            RuleText(
                "an operator says no",
                "aborted: withdrawn"
            )
        case .h2:
            RuleText(
                "a receiver says no",
                "aborted: vetoed"
            )
        case .h3:
            RuleText(
                "one of the accounts is not what it was when receivers were asked",
                "aborted: accounts changed"
            )
        case .h4:
            RuleText(
                "every receiver has said yes",
                "committed"
            )
        case .h5:
            RuleText(
                "the time is over",
                "aborted: timed out"
            )
        case .h6:
            RuleText(
                "otherwise",
                "it waits"
            )
        case .h7:
            RuleText(
                "the merge was not committed, or is undone",
                "refused: not committed"
            )
        case .h8:
            RuleText(
                "the time to undo it is over",
                "refused: too late"
            )
        case .h9:
            RuleText(
                "later changes stand in the way, and are not to be kept",
                "refused: later changes; nothing is written"
            )
        case .h10:
            RuleText(
                "otherwise",
                """
                undone: both accounts are as they were, but for later changes that are kept
                """
            )
        }
    }
}

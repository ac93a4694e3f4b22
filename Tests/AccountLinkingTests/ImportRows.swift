import AccountLinking
import AccountTestSupport
import Testing

/// Rules Z: imports, over their whole input.
struct ImportRows {
    static let me = user("a")
    static let other = user("b")

    struct Case: Sendable {
        var row: Result<ImportedFacts, ImportRefusal>
        var isRepeated: Bool
        var target: ImportTarget
        var owners: ImportOwners
        var allowsOverwrite: Bool

        var verdict: Verdict<ImportDecision> {
            decideImportAccount(
                row,
                isRepeated: isRepeated,
                target: target,
                owners: owners,
                allowsOverwrite: allowsOverwrite
            )
        }
    }

    static let all: [Case] = {
        var rows: [Result<ImportedFacts, ImportRefusal>] = [.failure(.invalidEmail), .failure(.missingLocalID)]
        for email in [nil, EmailAddress("ann@example.com")] {
            for isVerified in [false, true] {
                for hasSecondFactor in [false, true] {
                    rows.append(
                        .success(
                            ImportedFacts(
                                id: me,
                                email: email,
                                isEmailVerified: isVerified,
                                phoneNumber: PhoneNumber("+15550001111"),
                                hasSecondFactor: hasSecondFactor
                            )
                        )
                    )
                }
            }
        }
        var all: [Case] = []
        for row in rows {
            for isRepeated in [false, true] {
                for target in ImportTarget.allCases {
                    for email in [nil, me, other] {
                        for phone in [nil, me, other] {
                            for identities in [[], [me], [other], [me, other]] as [Set<UserID>] {
                                for allowsOverwrite in [false, true] {
                                    all.append(
                                        Case(
                                            row: row,
                                            isRepeated: isRepeated,
                                            target: target,
                                            owners: ImportOwners(
                                                ofEmail: email,
                                                ofPhoneNumber: phone,
                                                ofIdentities: identities
                                            ),
                                            allowsOverwrite: allowsOverwrite
                                        )
                                    )
                                }
                            }
                        }
                    }
                }
            }
        }
        return all
    }()

    private func facts(_ edit: (inout ImportedFacts) -> Void = { _ in }) -> Result<ImportedFacts, ImportRefusal> {
        var facts = ImportedFacts(id: Self.me, email: EmailAddress("ann@example.com"), isEmailVerified: true)
        edit(&facts)
        return .success(facts)
    }

    private func verdict(
        _ row: Result<ImportedFacts, ImportRefusal>,
        isRepeated: Bool = false,
        target: ImportTarget = .none,
        owners: ImportOwners = ImportOwners(),
        allowsOverwrite: Bool = true
    ) -> Verdict<ImportDecision> {
        decideImportAccount(
            row,
            isRepeated: isRepeated,
            target: target,
            owners: owners,
            allowsOverwrite: allowsOverwrite
        )
    }

    @Test func `an import never takes an identifier from another account`() {
        for one in Self.all {
            let taken =
                one.owners.ofEmail == Self.other || one.owners.ofPhoneNumber == Self.other
                || one.owners.ofIdentities.contains(Self.other)
            guard taken else { continue }
            guard case .refuse = one.verdict.decision else {
                Issue.record("\(one)")
                continue
            }
        }
    }

    @Test func `an existing account is replaced only if overwriting is allowed`() {
        for one in Self.all where one.target != .none {
            #expect(one.verdict.decision != .create)
            if !one.allowsOverwrite { #expect(one.verdict.decision != .replace) }
        }
    }

    @Test func `a row that equals its account changes nothing, with or without overwriting`() {
        for one in Self.all where one.target == .same {
            switch one.verdict.decision {
            case .unchanged, .refuse: break
            case .create, .replace: Issue.record("\(one)")
            }
        }
    }

    @Test func `Z1: an unreadable row is refused with its reason`() {
        #expect(verdict(.failure(.invalidEmail)) == Verdict(.importUnreadable, .refuse(.invalidEmail)))
    }

    @Test func `Z2: of two rows with one id the first is imported`() {
        #expect(verdict(facts(), isRepeated: true) == Verdict(.importDuplicateRow, .refuse(.repeatedLocalID)))
    }

    @Test func `Z3: a second factor needs a proven address`() {
        let without = facts {
            $0.hasSecondFactor = true
            $0.email = nil
        }
        let unproven = facts {
            $0.hasSecondFactor = true
            $0.isEmailVerified = false
        }
        #expect(verdict(without) == Verdict(.importFactorsNeedProvenEmail, .refuse(.secondFactorNeedsEmail)))
        #expect(verdict(unproven) == Verdict(.importFactorsNeedProvenEmail, .refuse(.secondFactorNeedsVerifiedEmail)))
        #expect(verdict(facts { $0.hasSecondFactor = true }).decision == .create)
    }

    @Test func `Z4 to Z6: identifiers of another account are refused`() {
        #expect(
            verdict(facts(), owners: ImportOwners(ofIdentities: [Self.me, Self.other]))
                == Verdict(.importIdentityInUse, .refuse(.identityTaken))
        )
        #expect(
            verdict(facts(), owners: ImportOwners(ofPhoneNumber: Self.other))
                == Verdict(.importPhoneInUse, .refuse(.phoneNumberTaken))
        )
        #expect(
            verdict(facts(), owners: ImportOwners(ofEmail: Self.other))
                == Verdict(.importEmailInUse, .refuse(.emailTaken))
        )
        let own = ImportOwners(ofEmail: Self.me, ofPhoneNumber: Self.me, ofIdentities: [Self.me])
        #expect(verdict(facts(), target: .other, owners: own).decision == .replace)
    }

    @Test func `Z7 to Z9: an existing account is unchanged, kept or replaced`() {
        #expect(verdict(facts(), target: .same, allowsOverwrite: false) == Verdict(.importUnchanged, .unchanged))
        #expect(
            verdict(facts(), target: .other, allowsOverwrite: false)
                == Verdict(.importNotOverwritten, .refuse(.accountExists))
        )
        #expect(verdict(facts(), target: .other) == Verdict(.importOverwrites, .replace))
    }

    @Test func `Z11: the id of a merged account is refused`() {
        #expect(verdict(facts(), target: .mergedAway) == Verdict(.importAccountMerged, .refuse(.accountMerged)))
    }

    @Test func `Z10: any other row creates an account`() {
        #expect(verdict(facts(), allowsOverwrite: false) == Verdict(.importCreates, .create))
    }
}

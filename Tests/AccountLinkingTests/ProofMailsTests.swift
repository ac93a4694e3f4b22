import Testing

@testable import AccountLinking

struct ProofMailsTests {
    private let now = Timestamp(microsecondsSinceEpoch: 1_750_000_000_250_000)

    @Test func `the first free place is taken, even if its hour ends at this instant`() {
        #expect(ProofMails().freePlace(at: now) == 1)
        let later = now.adding(seconds: 1)
        #expect(ProofMails(freeAt: [1: later, 3: later]).freePlace(at: now) == 2)
        #expect(ProofMails(freeAt: [1: now, 2: later]).freePlace(at: now) == 1)
        var all = Dictionary(uniqueKeysWithValues: (1...ProofMails.countMax).map { ($0, later) })
        #expect(ProofMails(freeAt: all).freePlace(at: now) == nil)
        all[7] = now
        #expect(ProofMails(freeAt: all).freePlace(at: now) == 7)
    }

    @Test func `a caller who waits as long as the refusal says finds a place`() {
        for microseconds: Int64 in [1, 999_999, 1_000_000, 1_000_001, 3_600_000_000] {
            let free = Timestamp(microsecondsSinceEpoch: now.microsecondsSinceEpoch + microseconds)
            var all = Dictionary(uniqueKeysWithValues: (1...ProofMails.countMax).map { ($0, free.adding(seconds: 9)) })
            all[4] = free
            let mails = ProofMails(freeAt: all)
            let wait = mails.secondsUntilFree(at: now)
            #expect(mails.freePlace(at: now.adding(seconds: wait)) == 4)
            #expect(wait == 1 || mails.freePlace(at: now.adding(seconds: wait - 1)) == nil)
        }
    }
}

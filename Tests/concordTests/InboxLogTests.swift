import AccountLinking
import Testing

@testable import AccountOperations
@testable import concord

struct InboxLogTests {
    private static func message(
        _ id: String,
        _ second: Int64,
        kind: String = "mail",
        code: String? = nil
    ) -> InboxMessage {
        InboxMessage(
            id: id,
            kind: kind,
            type: kind == "sms" ? "VERIFICATION_CODE" : "PASSWORD_RESET",
            createdAt: Timestamp(secondsSinceEpoch: second),
            from: nil,
            to: kind == "sms" ? "+16505550101" : "ada@example.com",
            subject: nil,
            code: code,
            language: "en",
            text: "",
            html: nil
        )
    }

    @Test func `a line names the kind, the type, the recipient, and the place of the mail or the code`() {
        let inbox = "http://127.0.0.1:9099/inbox"
        let mail = Self.message("m1", 1, code: "12345678")
        #expect(
            mail.developmentLine(inbox: inbox, isColored: false)
                == "mail  PASSWORD_RESET  to ada@example.com  http://127.0.0.1:9099/inbox#m1"
        )
        let sms = Self.message("m2", 1, kind: "sms", code: "123456")
        #expect(
            sms.developmentLine(inbox: inbox, isColored: false)
                == "sms  VERIFICATION_CODE  to +16505550101  code 123456"
        )
        #expect(
            sms.developmentLine(inbox: inbox, isColored: true).hasPrefix("\u{1B}[36msms\u{1B}[0m  VERIFICATION_CODE")
        )
    }

    @Test func `each message is reported once, also one that becomes visible after a newer one`() {
        var news = InboxNews(since: Timestamp(secondsSinceEpoch: 1000))
        func take(_ messages: [InboxMessage]) -> [String] {
            let new = messages.filter { news.isNew($0.id, $0.createdAt) }
            news.report(new)
            return new.map(\.id)
        }
        #expect(take([Self.message("before the start", 1000)]) == [])
        let (first, late, second) = (Self.message("a", 1001), Self.message("b", 1002), Self.message("c", 1003))
        #expect(take([first, second]) == ["a", "c"])
        #expect(take([first, late, second]) == ["b"])
        #expect(take([first, late, second]) == [])
        let later = Self.message("d", 1100)
        #expect(take([first, late, second, later]) == ["d"])
        // The ids before the horizon are forgotten, and their messages are no news.
        #expect(take([first, late, second, later]) == [])
    }
}

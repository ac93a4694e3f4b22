package import AccountLinking
import AccountStore
import JSON
import Postgres

/// The outbox holds it sealed.
package struct SMS: Sendable, Hashable {
    package var to: PhoneNumber
    package var text: String
    package var code: String
    /// Development finds the message by it.
    package var sessionInfo: String
    /// A BCP 47 tag.
    package var locale: String

    var plaintext: [UInt8] {
        JSONWriter.object { writer in
            writer.field("to", to.rawValue)
            writer.field("text", text)
            writer.field("code", code)
            writer.field("sessionInfo", sessionInfo)
            writer.field("locale", locale)
        }
    }
}

extension SMS: SealedContent {
    static var kind: OutboxMessage.Kind { .sms }

    init?(plaintext: [UInt8]) {
        guard let value = try? JSONValue(parsing: plaintext), let to = value["to"]?.string.flatMap(PhoneNumber.init),
            let text = value["text"]?.string, let code = value["code"]?.string,
            let sessionInfo = value["sessionInfo"]?.string, let locale = value["locale"]?.string
        else { return nil }
        self.init(to: to, text: text, code: code, sessionInfo: sessionInfo, locale: locale)
    }
}

/// Short texts, so that a message is one segment: 160 characters of the GSM alphabet, or 70 of others (3GPP TS 23.040
/// §9.2.3.24.1).
enum SMSText {
    private static let codePlace = "%LOGIN_CODE%"
    private static let appPlace = "%APP_NAME%"
    /// Longer names are truncated.
    static let appNameCharactersMax = 24

    /// The languages of the pages. The first is the default.
    static let texts: [(language: String, text: String)] = [
        ("en", "\(codePlace) is your verification code for \(appPlace)."),
        ("zh-TW", "\(codePlace) 是您在 \(appPlace) 的驗證碼。"),
        ("th", "\(codePlace) คือรหัสยืนยันของคุณสำหรับ \(appPlace)"),
    ]

    /// - `template`: in any language. Ignored without a place for the code.
    static func text(code: String, appName: String, locale: String, template: String?) -> String {
        var text = texts.first { speaks($0.language, locale) }?.text ?? texts[0].text
        if let template, template.contains(codePlace) { text = template }
        return text.replacing(appPlace, with: appName.prefix(appNameCharactersMax)).replacing(codePlace, with: code)
    }

    /// True if the first subtags are equal (RFC 4647 §3.4). Chinese as written in Taiwan suits every reader of the
    /// traditional script.
    private static func speaks(_ language: String, _ locale: String) -> Bool {
        let subtags = locale.lowercased().split(separator: "-")
        if language == "zh-TW" {
            return subtags.first == "zh" && subtags.dropFirst().contains { ["tw", "hk", "mo", "hant"].contains($0) }
        }
        return subtags.first.map(String.init) == language
    }
}

extension AccountOperations {
    private static let inspectedMessagesMax: Int64 = 1000

    /// Oldest first. For development.
    package func messagesWithUsableCodes(tenant: TenantID) async throws -> [SMS] {
        let waiting = try await store.waitingMessages(.sms, countMax: Self.inspectedMessagesMax, tenant: tenant)
        let messages = waiting.compactMap { SMS(opening: $0, tenant: tenant, sealer: sealer) }
        let ids = messages.compactMap { PhoneSession($0.sessionInfo)?.id }
        let usable = try await store.usablePhoneVerifications(among: ids, tenant: tenant, at: effects.now())
        return messages.filter { message in PhoneSession(message.sessionInfo).map { usable.contains($0.id) } ?? false }
    }
}

import AccountOperations
import Delivery
import IdentityProviders

/// The settings of outgoing text messages with codes.
struct MessagesConfiguration: Sendable {
    /// The gateway that sends them.
    enum Gateway: Sendable {
        case webhook(url: String, secret: WebhookSecret)
        case twilio(base: String, account: String, token: String, sender: TwilioSMSSender.Sender)
    }

    /// `nil` if there is no gateway.
    let gateway: Gateway?
    let timeout: Duration
    let connectionsMax: Int
    /// True if every caller may request codes to real numbers.
    let allowsUnverifiedApps: Bool
}

extension MessagesConfiguration {
    static let entries: [ConfigurationEntry] = [
        webhookURLKey.entry, webhookSecretKey.entry, accountKey.entry, tokenKey.entry, fromKey.entry,
        serviceKey.entry, baseKey.entry, timeoutKey.entry, connectionsKey.entry, allowUnverifiedAppsKey.entry,
    ]

    private static let webhookURLKey = ConfigurationKey(
        optional: "sms.webhook_url",
        .gatewayURL,
        "URL that receives signed messages to phones; without a gateway, they wait until they expire"
    )
    private static let webhookSecretKey = ConfigurationKey(
        optional: "sms.webhook_secret",
        .text("whsec_ and base64 of 24 to 64 bytes"),
        secrecy: .hidden,
        "Secret that signs them (Standard Webhooks)"
    )
    private static let accountKey = ConfigurationKey(
        optional: "sms.twilio_account_sid",
        .identifier("the SID of an account"),
        "Account at a gateway with Twilio's API, instead of `sms.webhook_url`"
    )
    private static let tokenKey = ConfigurationKey(
        optional: "sms.twilio_auth_token",
        .text("the account's token"),
        secrecy: .hidden,
        "Token of that account"
    )
    private static let fromKey = ConfigurationKey(
        optional: "sms.twilio_from",
        .text("a number or a sender's name"),
        "Sender of messages"
    )
    private static let serviceKey = ConfigurationKey(
        optional: "sms.twilio_messaging_service_sid",
        .text("the SID of a messaging service"),
        "Messaging service that chooses the sender, instead of `sms.twilio_from`"
    )
    private static let baseKey = ConfigurationKey(
        "sms.twilio_url",
        .gatewayURL,
        default: "https://api.twilio.com",
        "URL of that API"
    )
    private static let timeoutKey = ConfigurationKey(
        "sms.timeout",
        .duration(milliseconds: 1000...60_000),
        default: .seconds(10),
        "Time for sending one message"
    )
    private static let connectionsKey = ConfigurationKey(
        "sms.connections",
        .wholeNumber(1...32),
        default: 4,
        "Messages that one server sends in parallel"
    )
    private static let allowUnverifiedAppsKey = ConfigurationKey(
        "sms.allow_unverified_apps",
        .truth,
        default: false,
        "Sends codes for requests without proof of an app; strangers can then cause costs"
    )

    /// Reads the `sms` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        timeout = reader.value(Self.timeoutKey)
        connectionsMax = reader.value(Self.connectionsKey)
        allowsUnverifiedApps = reader.value(Self.allowUnverifiedAppsKey)
        let webhook = Self.webhook(reading: &reader)
        let twilio = Self.twilio(reading: &reader)
        if webhook != nil, twilio != nil {
            reader.refuse(Self.accountKey, "excludes sms.webhook_url; keep one of them")
        }
        gateway = webhook ?? twilio
    }

    private static func webhook(reading reader: inout ConfigurationReader) -> Gateway? {
        let url = reader.value(webhookURLKey)
        let text = reader.value(webhookSecretKey)
        let secret = text.flatMap(WebhookSecret.init(text:))
        if text != nil, secret == nil { reader.refuse(webhookSecretKey, "give \(webhookSecretKey.entry.allowed)") }
        guard let url else { return nil }
        guard let secret else {
            if text == nil { reader.refuse(webhookSecretKey, "required beside sms.webhook_url") }
            return nil
        }
        return .webhook(url: url, secret: secret)
    }

    private static func twilio(reading reader: inout ConfigurationReader) -> Gateway? {
        let account = reader.value(accountKey)
        let token = reader.value(tokenKey)
        let from = reader.value(fromKey)
        let service = reader.value(serviceKey)
        let base = reader.value(baseKey)
        guard let account else { return nil }
        if from != nil, service != nil {
            reader.refuse(serviceKey, "excludes sms.twilio_from; keep one of them")
        }
        guard let token else {
            reader.refuse(tokenKey, "required beside sms.twilio_account_sid")
            return nil
        }
        guard let sender = from.map(TwilioSMSSender.Sender.from) ?? service.map(TwilioSMSSender.Sender.messagingService)
        else {
            reader.refuse(fromKey, "required beside sms.twilio_account_sid, unless there is a messaging service")
            return nil
        }
        return .twilio(base: base, account: account, token: token, sender: sender)
    }

    /// The sender of messages; `nil` if there is no gateway.
    ///
    /// It trusts the authorities of providers: libcurl caches one set of parsed authorities, so requests with different
    /// ones would parse them each time.
    func channel(_ providers: ProvidersConfiguration) -> SMSChannel? {
        // A gateway may be in any network, because the operator chooses it. Plain HTTP is allowed only on this machine.
        let http = IssuerHTTPClient(
            policy: NetworkPolicy(allowsPrivateNetworks: true, allowsLoopback: true),
            authorities: providers.certificateAuthorities
        )
        let sender: (any SMSSending)? =
            switch gateway {
            case .webhook(let url, let secret): WebhookSMSSender(http: http, url: url, secret: secret)
            case .twilio(let base, let account, let token, let sender):
                TwilioSMSSender(http: http, base: base, account: account, token: token, sender: sender)
            case nil: nil
            }
        return sender.map { SMSChannel($0, timeout: timeout, concurrencyMax: connectionsMax) }
    }
}

import FoundationEssentials
package import IdentityProviders
import JSON

/// A text message to a phone.
package struct OutgoingSMS: Sendable, Hashable {
    /// The id of the message, the same with every attempt, so that a receiver recognizes duplicates.
    package let id: String
    /// E.164.
    package let to: String
    package let text: String
    /// The code of the text, for receivers that write their own text.
    package let code: String
    /// A BCP 47 tag.
    package let locale: String

    package init(id: String, to: String, text: String, code: String, locale: String) {
        self.id = id
        self.to = to
        self.text = text
        self.code = code
        self.locale = locale
    }
}

/// Sends text messages. Each kind of gateway implements it.
package protocol SMSSending: Sendable {
    /// Sends a message once, within `deadline`.
    ///
    /// - `seconds`: the time, since 1970.
    func send(
        _ message: OutgoingSMS,
        at seconds: Int64,
        deadline: ContinuousClock.Instant
    ) async -> DeliveryOutcome
}

/// Posts messages to an operator's gateway, signed like webhooks (Standard Webhooks 1.0).
package struct WebhookSMSSender: SMSSending {
    private let http: any HTTPFetching
    private let url: String
    private let secret: WebhookSecret

    package init(http: any HTTPFetching, url: String, secret: WebhookSecret) {
        self.http = http
        self.url = url
        self.secret = secret
    }

    package func send(
        _ message: OutgoingSMS,
        at seconds: Int64,
        deadline: ContinuousClock.Instant
    ) async -> DeliveryOutcome {
        let body = JSONWriter.object { writer in
            writer.field("type", "sms.requested")
            writer.field("data") { writer in
                writer.field("to", message.to)
                writer.field("text", message.text)
                writer.field("code", message.code)
                writer.field("locale", message.locale)
            }
        }
        let webhook = Webhook(id: message.id, body: body)
        let fields = webhook.fields(at: seconds, secrets: [secret])
        let request = ProviderRequest(
            .post,
            url,
            fields: fields.map { ProviderRequest.Field(name: $0.name, value: $0.value) },
            body: body
        )
        do {
            return DeliveryOutcome(try await http.answer(to: request, deadline: deadline).status)
        } catch {
            return .deferred(reason: error.rawValue)
        }
    }
}

/// A gateway that speaks Twilio's API (`POST /2010-04-01/Accounts/{sid}/Messages.json`).
package struct TwilioSMSSender: SMSSending {
    /// The sender of messages.
    package enum Sender: Sendable, Hashable {
        /// A number, or the name that a phone shows instead.
        case from(String)
        case messagingService(String)
    }

    private let http: any HTTPFetching
    private let address: String
    private let authorization: String
    private let sender: Sender

    ///
    /// - `base`: the URL of the API, without a slash at the end.
    /// - `account`: 1 to 64 letters and digits.
    package init(http: any HTTPFetching, base: String, account: String, token: String, sender: Sender) {
        self.http = http
        self.address = "\(base)/2010-04-01/Accounts/\(account)/Messages.json"
        self.authorization = "Basic " + Data("\(account):\(token)".utf8).base64EncodedString()
        self.sender = sender
    }

    package func send(
        _ message: OutgoingSMS,
        at seconds: Int64,
        deadline: ContinuousClock.Instant
    ) async -> DeliveryOutcome {
        let from: (name: String, value: String) =
            switch sender {
            case .from(let from): ("From", from)
            case .messagingService(let service): ("MessagingServiceSid", service)
            }
        let request = ProviderRequest.form(
            [("To", message.to), from, ("Body", message.text)],
            to: address,
            fields: [ProviderRequest.Field(name: "authorization", value: authorization)]
        )
        do {
            let answer = try await http.answer(to: request, deadline: deadline)
            // Twilio's error codes are more exact than the status: 21211 is an invalid number, 21610 has opted out.
            if answer.status == 400, let code = answer.json?["code"]?.integer {
                return .refused(reason: "code \(code)")
            }
            return DeliveryOutcome(answer.status)
        } catch {
            return .deferred(reason: error.rawValue)
        }
    }
}

extension DeliveryOutcome {
    /// The outcome of a message, from the gateway's status.
    fileprivate init(_ status: Int) {
        let reason = "status \(status)"
        self =
            switch status {
            case 200..<300: .delivered
            // Not a failure of this message: wrong credentials, no gateway, or too many requests.
            case 401, 403, 404, 405, 429, 503: .unavailable(reason: reason)
            case 400..<500: .refused(reason: reason)
            default: .deferred(reason: reason)
            }
    }
}

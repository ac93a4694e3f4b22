import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `POST /concord/v1/shortCode:exchange`: exchanges the short code of a mail for the code of its link.
    ///
    /// Requires no API key: the code is the secret, and any page may ask for it.
    static let exchangeShortCode = Route(
        .post,
        "/concord/v1/shortCode:exchange",
        access: .anyone,
        hidesAccounts: true
    ) { request in
        let body = request.body
        guard let kind = try body.nonEmptyString("requestType").flatMap(EmailCodeRecord.Kind.init(rawValue:)),
            kind.hasShortCode, kind.isForActionPage
        else { throw Problem(.malformedRequest, "`requestType` must be a kind of mail with a code.") }
        guard let email = try body.nonEmptyString("email").flatMap(EmailAddress.init) else {
            throw Problem(.malformedRequest, "`email` must be an email address.")
        }
        guard let code = try body.nonEmptyString("code") else {
            throw Problem(.malformedRequest, "`code` is required.")
        }
        let exchanged = try await request.operations
            .exchangeShortCode(
                code,
                of: kind,
                mailedTo: email,
                tenant: request.tenant,
                locale: request.locale,
                clientAddress: request.subscriber
            )
        return .object { writer in
            writer.field("requestType", kind.rawValue)
            writer.field("oobCode", exchanged.code)
            writer.field("oobLink", exchanged.link)
        }
    }
}

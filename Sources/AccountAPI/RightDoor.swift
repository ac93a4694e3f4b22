import AccountLinking
import AccountOperations
import JSON

extension APIRequest {
    /// Mails the right door to the address in the request, if it has one, before the answer that refuses every address.
    /// Not for administrators, who ask about others.
    func mailRightDoor(after door: WrongDoor) async throws {
        guard caller != .administrator, let email = body.value("email")?.string.flatMap(EmailAddress.init) else {
            return
        }
        try await operations.mailRightDoor(after: door, to: email, from: subscriber, locale: locale, tenant: tenant)
    }
}

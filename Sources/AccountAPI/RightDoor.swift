import AccountLinking
import AccountOperations

extension APIRequest {
    /// Mails the right door to the address in the request, if it has one, before the answer that refuses every address.
    /// Not for administrators, who ask about others.
    func mailRightDoor(after door: WrongDoor) async throws {
        guard caller != .administrator, case .string(let text)? = body.value("email"), let email = EmailAddress(text)
        else { return }
        try await operations.mailRightDoor(after: door, to: email, from: subscriber, locale: locale, tenant: tenant)
    }
}

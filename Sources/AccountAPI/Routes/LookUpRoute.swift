import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:lookup`: exactly one user with an ID token, any number for an administrator.
    static let lookUp = Route(
        .post,
        "/v1/accounts:lookup",
        legacyName: "getAccountInfo",
        aliases: projectPaths("accounts:lookup"),
        access: .client
    ) { request in
        let users: [UserRecord]
        let isForAdministrator = request.actsOnAnyAccount(sessionFields: ["idToken"])
        if isForAdministrator {
            users = try await request.operations.lookUp(try search(request.body), tenant: request.tenant)
        } else {
            let user = try await request.operations
                .lookUp(idToken: request.requiredIDToken(), tenant: request.tenant)
            users = [user]
        }
        return .object { writer in
            writer.field("kind", "identitytoolkit#GetAccountInfoResponse")
            guard !users.isEmpty else { return }
            writer.field("users", array: users) { writer, user in
                writer.user(user, showsNumbers: isForAdministrator)
            }
        }
    }

    /// SDKs request at most 100 at once.
    private static let identifiersMax = 1000

    /// Texts that cannot be identifiers match no user and are left out.
    private static func search(_ body: RequestBody) throws(APIError) -> UserSearch {
        var search = UserSearch()
        search.ids = try body.strings("localId").compactMap(UserID.init)
        search.emails = try body.strings("email").compactMap(EmailAddress.init)
        search.phoneNumbers = try body.strings("phoneNumber").compactMap(PhoneNumber.init)
        search.initialEmails = try body.strings("initialEmail")
        for info in try body.objects("federatedUserId") {
            guard let name = try info.nonEmptyString("providerId"), let subject = try info.nonEmptyString("rawId")
            else { continue }
            switch name {
            case "phone": search.phoneNumbers += [PhoneNumber(subject)].compactMap(\.self)
            case "email", "password": search.emails += [EmailAddress(subject)].compactMap(\.self)
            default:
                guard let provider = ProviderID(name),
                    let identity = ProviderIdentity(provider: provider, subject: subject)
                else { continue }
                search.identities.append(identity)
            }
        }
        let count =
            search.ids.count + search.emails.count + search.phoneNumbers.count + search.identities.count
            + search.initialEmails.count
        guard count <= identifiersMax else {
            throw .invalidValue(at: "localId", expected: "at most \(identifiersMax) identifiers in one request")
        }
        return search
    }
}

import AccountOperations
import HTTPTypes

extension Route {
    /// Deletes every account, for test suites that need an empty project.
    static let deleteAllAccounts = Route(
        .delete,
        "/emulator/v1/projects/{project}/accounts",
        aliases: ["/emulator/v1/projects/{project}/tenants/{tenant}/accounts"],
        access: .anyone
    ) { request in
        try await request.operations.deleteAllAccounts(tenant: request.tenant)
        return .object { _ in }
    }
}

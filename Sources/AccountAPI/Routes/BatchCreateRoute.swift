import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:batchCreate`: accounts from another system, with the hashes of their passwords.
    static let batchCreate = Route(
        .post,
        "/v1/projects/{project}/accounts:batchCreate",
        aliases: ["/v1/projects/{project}/tenants/{tenant}/accounts:batchCreate"],
        access: .administrator,
        handle: batchCreate
    )

    /// The older name of the same route, which has the project in the body.
    static let uploadAccount = Route(
        .post,
        "/identitytoolkit/v3/relyingparty/uploadAccount",
        aliases: ["/www.googleapis.com/identitytoolkit/v3/relyingparty/uploadAccount"],
        access: .administrator
    ) { request in
        guard try request.body.nonEmptyString("targetProjectId") != nil else {
            throw APIError.code(.insufficientPermission)
        }
        return try await batchCreate(request)
    }

    private static func batchCreate(_ request: APIRequest) async throws -> APIResponse {
        let body = request.body
        let rows = try body.objects("users").map(ImportedAccount.init(reading:))
        guard !rows.isEmpty else { throw APIError.code(.missingUserAccount) }
        guard rows.count <= AccountImport.rowsMax else {
            throw APIError.invalidArgument("users must have at most \(AccountImport.rowsMax) entries")
        }
        let operations = request.operations
        if try body.bool("sanityCheck") == true {
            try checkDuplicates(rows, isOnePerEmail: operations.project.settings.policy.isOneAccountPerEmail)
        }
        var options = AccountImport.Options(tenant: request.tenant)
        // SDKs and the CLI do not send it. The original replaces existing accounts, but refuses a repeated uid.
        let allowsOverwrite = try body.bool("allowOverwrite")
        options.allowsOverwrite = allowsOverwrite ?? true
        if allowsOverwrite != true { try checkLocalIDs(rows) }
        let parameters = try HashParameters(reading: body)
        if let parameters {
            switch try await operations.hashKeys.hashing(by: parameters) {
            case .success(let hashing): options.hashing = hashing
            case .failure(let defect): throw APIError.code(.invalidHashAlgorithm, defect.explanation)
            }
        } else if rows.contains(where: \.hasPasswordHash) {
            throw APIError.code(.invalidHashAlgorithm, HashParameters.Defect.missing("hashAlgorithm").explanation)
        }
        let outcome = try await operations.accountImport.apply(rows, options)
        return .object { writer in
            writer.field("kind", "identitytoolkit#UploadAccountResponse")
            guard !outcome.refused.isEmpty else { return }
            writer.field("error", objects: outcome.refused) { writer, row in
                writer.field("index", Int64(row.index))
                writer.field("message", row.refusal.message)
            }
        }
    }

    /// Duplicates within the list refuse all of it.
    private static func checkDuplicates(_ rows: [ImportedAccount], isOnePerEmail: Bool) throws(APIError) {
        var emails: Set<EmailAddress> = []
        var identities: Set<ProviderIdentity> = []
        for row in rows {
            if isOnePerEmail, let address = row.email.flatMap(EmailAddress.init), !emails.insert(address).inserted {
                throw .code(.duplicateEmail, address.lowercased)
            }
            for described in row.identities {
                guard let provider = described.provider.flatMap(ProviderID.init), let subject = described.subject,
                    let identity = ProviderIdentity(provider: provider, subject: subject)
                else { continue }
                guard identities.insert(identity).inserted else {
                    throw .code(.duplicateRawID, "Provider id(\(provider.rawValue)), Raw id(\(subject))")
                }
            }
        }
    }

    private static func checkLocalIDs(_ rows: [ImportedAccount]) throws(APIError) {
        var ids: Set<String> = []
        for id in rows.compactMap(\.id) where !ids.insert(id).inserted { throw .code(.duplicateLocalID, id) }
    }
}

extension ImportedAccount {
    fileprivate var hasPasswordHash: Bool {
        if case .hash = password { true } else { false }
    }
}

extension HashParameters {
    /// Returns `nil` if no algorithm is named.
    init?(reading body: RequestBody) throws(APIError) {
        guard let algorithm = try body.nonEmptyString("hashAlgorithm") else { return nil }
        self.init(algorithm: algorithm)
        signerKey = try Self.bytes("signerKey", body)
        saltSeparator = try Self.bytes("saltSeparator", body)
        rounds = try body.integer("rounds")
        memoryCost = try body.integer("memoryCost")
        cpuMemCost = try body.integer("cpuMemCost")
        blockSize = try body.integer("blockSize")
        parallelization = try body.integer("parallelization")
        derivedKeyLength = try body.integer("dkLen")
        switch try body.enumeration("passwordHashOrder", Self.orders) {
        case "SALT_AND_PASSWORD": order = .saltFirst
        case "PASSWORD_AND_SALT": order = .passwordFirst
        default: order = nil
        }
        if let argon2 = try body.object("argon2Parameters") { self.argon2 = try Argon2(reading: argon2) }
    }

    private static let orders = ["UNSPECIFIED_ORDER", "SALT_AND_PASSWORD", "PASSWORD_AND_SALT"]

    fileprivate static func bytes(_ name: String, _ body: RequestBody) throws(APIError) -> [UInt8]? {
        guard let text = try body.nonEmptyString(name) else { return nil }
        guard let bytes = Base64URL.decodeEitherAlphabet(text) else {
            throw .invalidValue(at: name, expected: "TYPE_BYTES")
        }
        return bytes
    }
}

extension HashParameters.Argon2 {
    fileprivate init(reading body: RequestBody) throws(APIError) {
        let types = ["HASH_TYPE_UNSPECIFIED", "ARGON2_D", "ARGON2_ID", "ARGON2_I"]
        let variant: Argon2Hash.Variant
        switch try body.enumeration("hashType", types) {
        case "ARGON2_D": variant = .d
        case "ARGON2_I": variant = .i
        case "ARGON2_ID": variant = .id
        default: throw .code(.invalidHashAlgorithm, "argon2Parameters.hashType is missing")
        }
        let version = try body.enumeration("version", ["VERSION_UNSPECIFIED", "VERSION_10", "VERSION_13"])
        func number(_ name: String) throws(APIError) -> Int {
            guard let number = try body.integer(name), let small = Int(exactly: number), (0...1 << 20).contains(small)
            else { throw .code(.invalidHashAlgorithm, "argon2Parameters.\(name) is missing or out of range") }
            return small
        }
        let hasLength = body.value("hashLengthBytes") != nil
        self.init(
            variant: variant,
            version: version == "VERSION_10" ? 0x10 : 0x13,
            memoryKiB: try number("memoryCostKib"),
            passes: try number("iterations"),
            lanes: try number("parallelism"),
            hashLength: hasLength ? try number("hashLengthBytes") : nil,
            associatedData: try HashParameters.bytes("associatedData", body) ?? []
        )
    }
}

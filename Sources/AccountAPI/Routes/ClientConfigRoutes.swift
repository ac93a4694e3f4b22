import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// What client SDKs ask before they open a page of the project (`spec/01` §3.7).
    ///
    /// `projectId` is the number: iOS and the web compare it with their own configuration.
    static let clientConfig = Route(.get, "/v1/projects", legacyName: "getProjectConfig", access: .client) { request in
        if request.query["returnDynamicLink"] == "true" { throw APIError.code(.dynamicLinkNotActivated) }
        let settings = request.operations.project.settings
        return .object { writer in
            writer.field("projectId", decimalString: settings.projectNumber)
            writer.field("authorizedDomains", settings.authorizedDomains)
        }
    }

    /// The site key of the older proof of being human (`spec/01` §3.8). There is none; the web SDK wants a text all the
    /// same, and asks nobody with it while an app turns verification off.
    static let recaptchaParams = Route(
        .get,
        "/v1/recaptchaParams",
        legacyName: "getRecaptchaParam",
        access: .client
    ) { request in
        try request.refuseTenantInQuery(.tenantNotFound)
        return .object { writer in
            writer.field("kind", "identitytoolkit#GetRecaptchaParamResponse")
            writer.field("recaptchaStoken", "not-configured")
            writer.field("recaptchaSiteKey", "not-configured")
        }
    }

    /// The newer proof of being human (`spec/01` §3.9): an empty answer says that it is off everywhere.
    static let recaptchaConfig = Route(.get, "/v2/recaptchaConfig", access: .client) { request in
        try request.refuseTenantInQuery(.tenantNotFound)
        return .object { _ in }
    }

    /// What a new password needs (`spec/01` §3.10), so that an app can say so while it is typed.
    static let passwordPolicy = Route(.get, "/v2/passwordPolicy", access: .client) { request in
        try request.refuseTenantInQuery(.tenantNotFound)
        let policy = request.operations.project.settings.passwordPolicy
        return .object { writer in
            writer.field(
                "customStrengthOptions",
                object: { writer in
                    writer.field("minPasswordLength", Int64(policy.lengthMin))
                    writer.field("maxPasswordLength", Int64(policy.lengthMax))
                    if policy.needsLowercase { writer.field("containsLowercaseCharacter", true) }
                    if policy.needsUppercase { writer.field("containsUppercaseCharacter", true) }
                    if policy.needsDigit { writer.field("containsNumericCharacter", true) }
                    if policy.needsSymbol { writer.field("containsNonAlphanumericCharacter", true) }
                }
            )
            writer.field("allowedNonAlphanumericCharacters", PasswordPolicy.symbols.map(String.init))
            writer.field("enforcementState", policy.isEnforced ? "ENFORCE" : "OFF")
            writer.field("forceUpgradeOnSignin", policy.appliesAtSignIn)
            writer.field("schemaVersion", 1 as Int64)
        }
    }
}

extension APIRequest {
    /// No tenant exists (docs/differences.md).
    fileprivate func refuseTenantInQuery(_ code: ErrorCode) throws(APIError) {
        if let tenant = query["tenantId"], !tenant.isEmpty { throw .code(code) }
    }
}

import AccountOperations
import HTTPTypes
import IdentityProviders
import JSON

extension Route {
    /// The configuration that client SDKs read before they open a page of the project.
    ///
    /// `projectId` is the number: iOS and the web compare it with their own configuration. `authorizedDomains` has the
    /// form that SDKs expect; Concord does not use it. Concord's own pages ask with `concordDestination` if they may
    /// pass a code or a session to a page, and with `concordLoopback` if a native app may receive a result on a port of
    /// its machine. `concordAuthorized` is the answer.
    static let clientConfig = Route(.get, "/v1/projects", legacyName: "getProjectConfig", access: .client) { request in
        if request.query["returnDynamicLink"] == "true" { throw APIError.code(.dynamicLinkNotActivated) }
        let settings = request.operations.project.settings
        switch settings.denial(of: RegisteredApp.Claim(request)) {
        case nil: break
        // A developer may have no registered app yet.
        case _ where request.operations.providers.isForDevelopment && settings.apps.isEmpty: break
        case .unknownApp: throw APIError.code(.invalidAppID)
        case .unknownCertificate: throw APIError.code(.invalidCertHash)
        case .unknownClient: throw APIError.code(.invalidOAuthClientID)
        }
        return .object { writer in
            writer.field("projectId", decimalString: settings.projectNumber)
            writer.field("authorizedDomains", settings.shownDomains)
            if let destination = request.query["concordDestination"] {
                writer.field("concordAuthorized", request.operations.authorizesPage(at: destination))
            } else if let port = request.query["concordLoopback"] {
                writer.field("concordAuthorized", request.operations.authorizesLoopback(port: port))
            }
        }
    }

    /// The site key of the older reCAPTCHA. If there is none, the web SDK still requires a text, and does not use it
    /// while an app turns verification off.
    ///
    /// `concordChallenge` is Concord's own, for its page: present if tokens are verified, with the script to load, or
    /// without a script if development accepts any token.
    static let recaptchaParams = Route(
        .get,
        "/v1/recaptchaParams",
        legacyName: "getRecaptchaParam",
        access: .client
    ) { request in
        try request.refuseTenantInQuery(.tenantNotFound)
        return .object { writer in
            writer.field("kind", "identitytoolkit#GetRecaptchaParamResponse")
            let apps = request.operations.apps
            writer.field("recaptchaStoken", "not-configured")
            writer.field("recaptchaSiteKey", apps.challenge?.siteKey ?? "not-configured")
            guard apps.recaptcha != nil else { return }
            writer.field("concordChallenge") { $0.field("scriptUrl", apps.challenge?.scriptURL) }
        }
    }

    /// The configuration of reCAPTCHA Enterprise, which only codes to phones use: an empty answer means that it is off
    /// everywhere. If there is a challenge too, SDKs fall back to it.
    static let recaptchaConfig = Route(.get, "/v2/recaptchaConfig", access: .client) { request in
        try request.refuseTenantInQuery(.tenantNotFound)
        let apps = request.operations.apps
        guard let keys = apps.assessmentKeys, let siteKey = keys.siteKey(for: request.query["clientType"]) else {
            return .object { _ in }
        }
        let states = [
            ("EMAIL_PASSWORD_PROVIDER", "OFF"), ("PHONE_PROVIDER", apps.needsAssessments ? "ENFORCE" : "AUDIT"),
        ]
        return .object { writer in
            writer.field("recaptchaKey", "projects/\(keys.project)/keys/\(siteKey)")
            writer.field("recaptchaEnforcementState", objects: states) { writer, state in
                writer.field("provider", state.0)
                writer.field("enforcementState", state.1)
            }
        }
    }

    /// The rules for a new password, so that an app can show them while it is typed.
    ///
    /// `concordRefusesCommon` is Concord's own, for its page.
    static let passwordPolicy = Route(.get, "/v2/passwordPolicy", access: .client) { request in
        try request.refuseTenantInQuery(.tenantNotFound)
        let policy = request.operations.project.settings.passwordPolicy
        return .object { writer in
            writer.field("customStrengthOptions") { writer in
                writer.field("minPasswordLength", Int64(policy.shownLengthMin))
                writer.field("maxPasswordLength", Int64(policy.lengthMax))
                if policy.needsLowercase { writer.field("containsLowercaseCharacter", true) }
                if policy.needsUppercase { writer.field("containsUppercaseCharacter", true) }
                if policy.needsDigit { writer.field("containsNumericCharacter", true) }
                if policy.needsSymbol { writer.field("containsNonAlphanumericCharacter", true) }
            }
            writer.field("allowedNonAlphanumericCharacters", PasswordPolicy.symbols.map(String.init))
            writer.field("enforcementState", policy.isEnforced ? "ENFORCE" : "OFF")
            writer.field("forceUpgradeOnSignin", policy.appliesAtSignIn)
            if policy.refusesCommon { writer.field("concordRefusesCommon", true) }
            writer.field("schemaVersion", 1 as Int64)
        }
    }
}

extension RegisteredApp.Claim {
    fileprivate init(_ request: APIRequest) {
        func said(_ name: String) -> String? { request.query[name].flatMap { $0.isEmpty ? nil : $0 } }
        self.init(
            appID: said("firebaseAppId"),
            bundleID: said("iosBundleId"),
            packageName: said("androidPackageName"),
            certificate: said("sha1Cert"),
            clientID: said("clientId")
        )
    }
}

extension APIRequest {
    /// No tenant exists (docs/reference/differences.md).
    fileprivate func refuseTenantInQuery(_ code: ErrorCode) throws(APIError) {
        if let tenant = query["tenantId"], !tenant.isEmpty { throw .code(code) }
    }
}

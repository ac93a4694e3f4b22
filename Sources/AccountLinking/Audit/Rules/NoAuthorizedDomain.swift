extension AuditRule {
    static let noAuthorizedDomain = AuditRule(
        id: "no-authorized-domain",
        severity: .note,
        summary: "No domain is authorized, and sign-in links or a provider are enabled.",
        reason: "A web app that asks for a link or opens a provider's page gets `UNAUTHORIZED_DOMAIN`.",
        repair: "Add the host of each web app to `authorizedDomains`. A project with native apps only needs none.",
        remedy: .person("an administrator changes `authorizedDomains`"),
        check: .project { terms in
            guard terms.authorizedDomains.isEmpty else { return [] }
            let enabled =
                (terms.policy.allowsEmailLinkSignIn ? ["e-mail links"] : [])
                + terms.enabledProviders.map(\.rawValue).sorted()
            return enabled.isEmpty ? [] : [Evidence(["enabled": .text(enabled.joined(separator: ", "))])]
        }
    )
}

extension AuditRule {
    static let authorizedSharedHost = AuditRule(
        id: "authorized-shared-host",
        severity: .warning,
        summary: "An authorized domain is a name under a shared host, where anyone can register names.",
        reason: "The holder of the name, now or later, receives sign-in codes and sessions of the project's users.",
        repair: "Serve the app from your own domain, and remove the name from `authorizedDomains`.",
        remedy: .person("an administrator changes `authorizedDomains`"),
        check: .project { terms in
            terms.authorizedDomains.compactMap { domain in
                SharedHosts.sharedHost(of: domain.host).map { sharedHost in
                    Evidence(["domain": .text(domain.text), "sharedHost": .text(sharedHost)])
                }
            }
        }
    )
}

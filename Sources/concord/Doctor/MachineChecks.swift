import AccountLinking
import AccountOperations
import Delivery
import FoundationEssentials
import Glibc
import IdentityProviders
import NameResolution

/// The checks of this machine and of what its server sends messages to.
struct MachineChecks: Sendable {
    let configuration: DoctorConfiguration
    /// The address that receives a test mail.
    let testRecipient: EmailAddress?

    private static let certificateDaysMin = 14.0

    var all: [DoctorCheck] {
        [
            DoctorCheck("public-url") { [publicURL()] },
            DoctorCheck("tls-certificate") { [certificate()].compactMap(\.self) },
            DoctorCheck("listen") { listeners() }, DoctorCheck("open-files") { [try openFiles()] },
            DoctorCheck("mail", mail), DoctorCheck("sms", textMessages), DoctorCheck("apns", pushes),
        ]
    }

    private func publicURL() -> Diagnosis {
        guard let url = configuration.listen.publicURL else {
            return .warning(
                "public-url",
                "not set: links in mails lead to \(configuration.listen.host)",
                "Set listen.public_url to the https address that users reach"
            )
        }
        guard !url.hasPrefix("https://") else { return .ok("public-url", url) }
        let host = URL(string: url)?.host ?? ""
        return isLoopback(host: host)
            ? .ok("public-url", url)
            : .warning("public-url", "\(url) is not encrypted", "Use https in listen.public_url")
    }

    private func certificate() -> Diagnosis? {
        guard case .tls(let path, let keyPath) = configuration.listen.transport else { return nil }
        do throws(TLSFiles.Problem) {
            let files = try TLSFiles(certificatePath: path, keyPath: keyPath)
            guard let date = files.expiryDate else {
                return .failure("tls-certificate", "\(path) holds no certificate")
            }
            let days = (date.timeIntervalSinceNow / 86_400).rounded(.down)
            let found = "\(path) expires \(files.expires ?? "")"
            if days < 0 { return .failure("tls-certificate", found, "Renew it") }
            return days < Self.certificateDaysMin
                ? .warning("tls-certificate", found, "Renew it") : .ok("tls-certificate", found)
        } catch {
            return .failure("tls-certificate", "\(path): \(error)")
        }
    }

    private func listeners() -> [Diagnosis] {
        let listen = configuration.listen
        var findings = [Diagnosis.ok("listen", "\(listen.host), port \(listen.port)")]
        if case .unixSocket(let path) = listen.adminListener {
            let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
            if access(folder.isEmpty ? "/" : folder, F_OK) != 0 {
                findings.append(.failure("admin-socket", "\(folder) does not exist", "Create it: mkdir -p \(folder)"))
            } else if access(folder.isEmpty ? "/" : folder, W_OK) != 0 {
                findings.append(
                    .failure("admin-socket", "this user cannot write to \(folder)", "Let Concord's user write to it")
                )
            } else {
                findings.append(.ok("admin-socket", path))
            }
        }
        return findings
    }

    private func openFiles() throws -> Diagnosis {
        let room = try OpenFiles.raised().room
        let wanted = configuration.limits.connections
        return room < wanted
            ? .warning(
                "open-files",
                "\(room) client connections instead of \(wanted)",
                "Raise the limit (ulimit -Hn, LimitNOFILE), or lower limits.connections"
            )
            : .ok("open-files", "enough for \(wanted) client connections")
    }

    @Sendable private func mail() async -> [Diagnosis] {
        guard let mail = configuration.mail else {
            return [.warning("mail", "no relay: mails wait until they expire", "Set mail.host")]
        }
        var relay = mail.relay
        relay.timeout = min(relay.timeout, DoctorCheck.timeout)
        let place = "\(relay.host):\(relay.port)"
        let sender = SMTPRelay(relay)
        let outcome: DeliveryOutcome
        if let testRecipient {
            let content = Self.testMail(from: mail.sender, to: testRecipient)
            outcome = await sender.send(
                content.bytes,
                from: mail.sender.from.address.forTransport,
                to: testRecipient.forTransport
            )
        } else {
            outcome = await sender.check()
        }
        await sender.shutDown()
        switch outcome {
        case .delivered:
            let steps = [relay.security == .none ? nil : "TLS", relay.login == nil ? nil : "login"].compactMap(\.self)
            let accepted = steps.isEmpty ? "accepts connections" : "accepts \(steps.joined(separator: " and "))"
            return [.ok("mail", "\(place) \(accepted)" + (testRecipient == nil ? "" : "; a test mail was sent"))]
        case .deferred(let reason), .refused(let reason), .unavailable(let reason):
            return [.failure("mail", "\(place): \(reason)", Self.remedy(for: reason))]
        }
    }

    private static func remedy(for reason: String) -> String {
        // Codes of refused logins (RFC 4954 §6).
        if ["530", "534", "535"].contains(String(reason.prefix(3))) { return "Check mail.user and mail.password" }
        return switch reason {
        case "unresolved", "unreachable", "timeout":
            "Check mail.host and mail.port, and whether a firewall is in between"
        case "certificate", "tls": "Check mail.certificate_authorities, and the relay's certificate"
        case "no-starttls": "The relay offers no STARTTLS: try mail.security: tls"
        case "login": "Check mail.user and mail.password"
        case "not-smtp": "Another service listens there: check mail.port and mail.security"
        default: "Read the relay's log"
        }
    }

    private static func testMail(from sender: MailSender, to recipient: EmailAddress) -> MailMessage {
        let text = "This mail was sent by `concord doctor --send-test`. The relay works."
        return MailMessage(
            id: "doctor-\(UInt64.random(in: .min ... .max))@\(sender.idDomain)",
            createdAt: Effects.system.now(),
            from: sender.from,
            replyTo: sender.replyTo,
            to: recipient,
            subject: "Test mail of Concord",
            language: "en",
            text: text + "\n",
            html: "<p>\(text)</p>\n"
        )
    }

    @Sendable private func textMessages() async -> [Diagnosis] {
        switch configuration.messages.gateway {
        case .webhook(let url, secret: _): [await resolves("sms", url)]
        case .twilio(let base, account: _, token: _, sender: _): [await resolves("sms", base)]
        case nil: [.ok("sms", "no gateway: Concord sends no text messages")]
        }
    }

    @Sendable private func pushes() async -> [Diagnosis] {
        guard !configuration.applePush.apps.isEmpty else { return [.ok("apns", "no app gets pushes")] }
        return [
            await resolves("apns", configuration.applePush.hosts.production),
            await resolves("apns", configuration.applePush.hosts.sandbox),
        ]
    }

    private func resolves(_ check: String, _ address: String) async -> Diagnosis {
        let host = URL(string: address)?.host ?? address
        do {
            let deadline = ContinuousClock.now + (DoctorCheck.timeout - .milliseconds(500))
            _ = try await HostResolver.providers.address(of: host, port: 443, deadline: deadline)
            return .ok(check, "\(host) resolves")
        } catch let error as HostResolver.HostNotFound {
            return .failure(check, "\(host): \(error.reason)", "Check the host, and the name servers of this machine")
        } catch {
            return .failure(check, "\(host): the name servers do not answer", "Check the name servers of this machine")
        }
    }
}

/// One option of a connection string.
struct ConnectionParameter: Sendable, Hashable {
    var keyword: String
    var value: String
    /// Whether libpq says that the value should be hidden (`password`, `sslpassword`).
    var isSecret: Bool

    fileprivate var wantsReadWrite: Bool { keyword == "target_session_attrs" && value == "read-write" }
}

extension [ConnectionParameter] {
    func setting(_ keyword: String, to value: String) -> Self {
        filter { $0.keyword != keyword } + [ConnectionParameter(keyword: keyword, value: value, isSecret: false)]
    }

    func setting(_ others: Self) -> Self {
        others.reduce(self) { $0.setting($1.keyword, to: $1.value) }
    }

    /// Whether hosts and ports can be such. What is not is a password that was not percent-encoded, of which libpq's own
    /// messages would show a part: `postgresql://user:a@b@host` names the host `b@host`.
    var haveHosts: Bool {
        func values(_ keyword: String) -> [Substring] {
            (first { $0.keyword == keyword }?.value ?? "").split(separator: ",")
        }
        return values("host").allSatisfy { !$0.dropFirst().contains("@") }
            && values("port").allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }

    func settingDefault(_ keyword: String, to value: String) -> Self {
        contains { $0.keyword == keyword } ? self : setting(keyword, to: value)
    }
}

extension PostgresConfiguration {
    /// What a connection is for, which decides the server-side limits it starts with.
    enum Role: Sendable {
        case read
        case write
        /// For `PostgresConnection`: no limit of time, because migrations may take long.
        case unlimited
    }

    /// What is passed to libpq for a connection of `role`.
    func connectionParameters(for role: Role) -> [ConnectionParameter] {
        var result =
            parameters
            .setting("client_encoding", to: "UTF8")
            .settingDefault("application_name", to: applicationName)
            .settingDefault("connect_timeout", to: String(max(1, connectTimeout.components.seconds)))
        // Libpq would take every server for one that cannot be written to, because these connections are read-only.
        if role == .read, parameters.contains(where: \.wantsReadWrite) {
            result = result.setting("target_session_attrs", to: "primary")
        }
        let settings = sessionSettings(for: role)
        if statementMode == .named, !settings.isEmpty {
            let own = parameters.first { $0.keyword == "options" }?.value
            let ours = settings.map { "-c \($0.name)=\($0.value)" }.joined(separator: " ")
            result = result.setting("options", to: own.map { "\($0) \(ours)" } ?? ours)
        }
        return result
    }

    /// In `.unnamed` mode, the statement that sets the same limits for one transaction only; else `nil`.
    func transactionSettings(for role: Role) -> String? {
        guard statementMode == .unnamed else { return nil }
        let calls = sessionSettings(for: role)
            .map { "pg_catalog.set_config('\($0.name)', '\($0.value)', true)" }
        return calls.isEmpty ? nil : "SELECT \(calls.joined(separator: ", "))"
    }

    private struct Setting {
        var name: String
        var value: String
    }

    private func sessionSettings(for role: Role) -> [Setting] {
        let isOneTransaction = statementMode == .unnamed
        // A plan is kept for as long as the connection, a foreign key's too. One made while a table was empty would read
        // the whole table, however large it has become since, until somebody analyzes it. What then still has no index
        // to go by counts as so dear that it would be compiled first.
        let planning = [Setting(name: "enable_seqscan", value: "off"), Setting(name: "jit", value: "off")]
        // The planner takes an array for ten elements and would rather plan anew for each array of one.
        let caching = isOneTransaction ? [] : [Setting(name: "plan_cache_mode", value: "force_generic_plan")]
        switch role {
        case .read:
            return planning + caching + [
                Setting(name: "statement_timeout", value: milliseconds(readStatementTimeout)),
                // A read is sent again when its connection is lost, so the server must refuse whatever would write.
                Setting(
                    name: isOneTransaction ? "transaction_read_only" : "default_transaction_read_only",
                    value: "on"
                ),
            ]
        case .write:
            return planning + caching + [
                Setting(name: "statement_timeout", value: milliseconds(writeStatementTimeout)),
                Setting(name: "lock_timeout", value: milliseconds(lockTimeout)),
                Setting(
                    name: "idle_in_transaction_session_timeout",
                    value: milliseconds(idleInTransactionTimeout)
                ),
            ]
        case .unlimited:
            return []
        }
    }

    private func milliseconds(_ duration: Duration) -> String {
        String(max(1, duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000))
    }
}

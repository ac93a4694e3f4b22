/// One option of a connection string.
struct ConnectionParameter: Sendable, Hashable {
    var keyword: String
    var value: String
    /// `true` if libpq hides the value in messages (`password`, `sslpassword`).
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

    /// `false` if a host or port cannot be valid. The cause is a password that is not percent-encoded, of which libpq's
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
    /// The purpose of a connection. It determines the server-side limits of the session.
    enum Role: Sendable {
        case read
        case write
        /// For `PostgresConnection`: no time limit, because migrations may take long.
        case unlimited
    }

    /// The parameters that libpq gets for a connection of `role`.
    func connectionParameters(for role: Role) -> [ConnectionParameter] {
        var result =
            parameters
            .setting("client_encoding", to: "UTF8")
            .settingDefault("application_name", to: applicationName)
            .settingDefault("connect_timeout", to: String(max(1, connectTimeout.components.seconds)))
        // These connections are read-only, so libpq would consider no server writable.
        if role == .read, parameters.contains(where: \.wantsReadWrite) {
            result = result.setting("target_session_attrs", to: "primary")
        }
        let settings = sessionSettings(for: role)
        if !sendsSettingsWithTransactions, !settings.isEmpty {
            let own = parameters.first { $0.keyword == "options" }?.value
            let ours = settings.map { "-c \($0.name)=\($0.value)" }.joined(separator: " ")
            result = result.setting("options", to: own.map { "\($0) \(ours)" } ?? ours)
        }
        return result
    }

    /// True if each transaction sends its settings. Otherwise a connection sends them once, when it starts.
    var sendsSettingsWithTransactions: Bool { statementMode == .unnamed || sessionSettings == .transaction }

    /// The statement that sets the same limits for one transaction; `nil` if the connection has them.
    func transactionSettings(for role: Role, on engine: DatabaseEngine = .postgres) -> String? {
        guard sendsSettingsWithTransactions else { return nil }
        let calls = sessionSettings(for: role, on: engine)
            .map { "pg_catalog.set_config('\($0.name)', '\($0.value)', true)" }
        return calls.isEmpty ? nil : "SELECT \(calls.joined(separator: ", "))"
    }

    typealias Setting = PostgresSessionSetting

    /// The settings of a session. Citus refuses generic plans. A connection that finds Citus replaces that setting
    /// (`DatabaseEngine.greeting`); a transaction sends the other value, because a pooler may give it another session.
    func sessionSettings(for role: Role, on engine: DatabaseEngine = .postgres) -> [Setting] {
        let isOneTransaction = sendsSettingsWithTransactions
        // A connection keeps its plans, also those of foreign keys. A plan made for an empty table scans the table
        // sequentially until it is analyzed, however large it grows. Where there is no index, the scan's estimated cost
        // would then be so high that PostgreSQL would compile it first.
        // A generic plan expects a tenth of the rows for a limit, and 0.5 % of the table for each of ten elements of an
        // array. At ten million rows PostgreSQL would start parallel workers for a lookup (14 ms), and walk a whole
        // index to join the 100 rows of a purge (8.6 s instead of 1 ms). Requests join few rows, by key.
        let planning =
            ["enable_seqscan", "jit", "enable_hashjoin", "enable_mergejoin"]
            .map { Setting(name: $0, value: "off") }
            + [Setting(name: "max_parallel_workers_per_gather", value: "0")]
        // The planner estimates an array at ten elements, and would plan anew for each array of one.
        let plan = engine == .postgres ? "force_generic_plan" : "auto"
        let caching = statementMode == .named ? [Setting(name: "plan_cache_mode", value: plan)] : []
        switch role {
        case .read:
            return planning + caching + [
                Setting(name: "statement_timeout", value: milliseconds(readStatementTimeout)),
                // A read is sent again if its connection is lost, so the server must refuse writes.
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

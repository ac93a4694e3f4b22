package import AccountLinking
import AccountOperations
package import AccountStore
import JSON
import Postgres
import Synchronization

extension TestDatabase {
    /// Inconsistencies between tables, one line each. Every claim must have its user, every user the claims of its
    /// identifiers, and every dependent row its user.
    ///
    /// Addresses are compared in lower case, so tests that use this need ASCII addresses.
    package func inconsistencies() async throws -> [String] {
        let query: Query<String?> = """
            SELECT problem FROM (
                SELECT 'claim without user: ' || kind || ' ' || value AS problem
                FROM identifiers WHERE NOT EXISTS (
                    SELECT FROM users WHERE users.tenant_id = identifiers.tenant_id
                        AND users.user_id = identifiers.user_id)
                UNION ALL
                SELECT 'claim on another address: ' || value
                FROM identifiers JOIN users USING (tenant_id, user_id)
                WHERE kind = 'email' AND reserved_until IS NULL AND value IS DISTINCT FROM lower(users.email)
                UNION ALL
                SELECT 'reserved for an account that has it: ' || value
                FROM identifiers JOIN users USING (tenant_id, user_id)
                WHERE reserved_until IS NOT NULL AND value = lower(users.email)
                UNION ALL
                SELECT 'claim on another number: ' || value
                FROM identifiers JOIN users USING (tenant_id, user_id)
                WHERE kind = 'phone' AND value IS DISTINCT FROM users.phone_number
                UNION ALL
                SELECT 'claim on an identity that is not linked: ' || value
                FROM identifiers
                WHERE kind = 'federated' AND NOT EXISTS (
                    SELECT FROM linked_providers WHERE linked_providers.tenant_id = identifiers.tenant_id
                        AND linked_providers.user_id = identifiers.user_id
                        AND linked_providers.provider_id || E'\\x1F' || linked_providers.subject = identifiers.value)
                UNION ALL
                SELECT 'address without claim: ' || email
                FROM users WHERE email IS NOT NULL AND NOT EXISTS (
                    SELECT FROM identifiers WHERE identifiers.tenant_id = users.tenant_id AND kind = 'email'
                        AND value = lower(users.email) AND identifiers.user_id = users.user_id
                        AND reserved_until IS NULL)
                UNION ALL
                SELECT 'number without claim: ' || phone_number
                FROM users WHERE phone_number IS NOT NULL AND NOT EXISTS (
                    SELECT FROM identifiers WHERE identifiers.tenant_id = users.tenant_id AND kind = 'phone'
                        AND value = users.phone_number AND identifiers.user_id = users.user_id)
                UNION ALL
                SELECT 'identity without claim: ' || provider_id || ' ' || subject
                FROM linked_providers WHERE NOT EXISTS (
                    SELECT FROM identifiers WHERE identifiers.tenant_id = linked_providers.tenant_id
                        AND kind = 'federated' AND value = provider_id || E'\\x1F' || subject
                        AND identifiers.user_id = linked_providers.user_id)
                UNION ALL
                SELECT 'session without user: ' || user_id
                FROM sessions WHERE NOT EXISTS (
                    SELECT FROM users WHERE users.tenant_id = sessions.tenant_id
                        AND users.user_id = sessions.user_id)
                UNION ALL
                SELECT 'password without its method, or the reverse: ' || coalesce(p.user_id, m.user_id)
                FROM password_credentials AS p
                FULL JOIN (SELECT * FROM sign_in_methods WHERE method = 'password') AS m USING (tenant_id, user_id)
                WHERE p.hash IS NULL OR m.proof IS NULL
                UNION ALL
                SELECT 'linked provider without its method, or the reverse: ' || coalesce(l.user_id, m.user_id)
                FROM linked_providers AS l
                FULL JOIN (
                    SELECT tenant_id, user_id, method AS provider_id, proof
                    FROM sign_in_methods WHERE method NOT IN ('password', 'emailLink', 'phone')
                ) AS m USING (tenant_id, user_id, provider_id)
                WHERE l.subject IS NULL OR m.proof IS NULL
                UNION ALL
                SELECT 'method suspended that the account has: ' || method || ' ' || user_id
                FROM quarantined_methods JOIN sign_in_methods USING (tenant_id, user_id, method)
                UNION ALL
                SELECT 'address of several users: ' || lower(email)
                FROM users WHERE email IS NOT NULL GROUP BY tenant_id, lower(email) HAVING count(*) > 1
                UNION ALL
                SELECT 'session of an epoch that is to come: ' || user_id
                FROM sessions JOIN users USING (tenant_id, user_id)
                -- Soon to come: a sign-in beside a deletion leaves a dead session where the account is made again under
                -- its id, and that one begins at another random epoch.
                WHERE sessions.session_epoch - users.session_epoch BETWEEN 1 AND 1000000
                UNION ALL
                SELECT 'open conflict about what is linked: ' || user_id
                FROM conflicts JOIN linked_providers AS l USING (tenant_id, user_id, provider_id)
                WHERE state = 'open' AND kind = 'account-exists-with-different-credential'
                UNION ALL
                SELECT 'changes without event: ' || u.user_id
                FROM users AS u
                WHERE u.version > (
                    SELECT count(*) FROM account_events AS e
                    WHERE e.tenant_id = u.tenant_id AND e.user_id = u.user_id)
                UNION ALL
                SELECT 'sessions without event: ' || s.user_id
                FROM sessions AS s GROUP BY s.tenant_id, s.user_id
                HAVING count(*) > (
                    SELECT count(*) FROM account_events AS e
                    WHERE e.tenant_id = s.tenant_id AND e.user_id = s.user_id)
                UNION ALL
                SELECT 'code used before it was made: ' || kind
                FROM one_time_codes WHERE consumed_at < created_at
                UNION ALL
                SELECT 'event of nobody: ' || kind || ' ' || user_id
                FROM account_events AS e WHERE NOT EXISTS (
                    SELECT FROM account_events AS created
                    WHERE created.tenant_id = e.tenant_id AND created.user_id = e.user_id
                        AND created.kind IN ('user-created', 'user-imported'))
            ) AS problems ORDER BY problem
            """
        return try await joinedRows(query).compactMap { $0 } + decisionsAnsweredOtherwise() + auditErrors()
    }

    /// Audit findings of severity error. Accounts that the service itself wrote must have none.
    private func auditErrors() async throws -> [String] {
        let terms = AuditTerms(policy: LinkPolicy(), isEnabled: { _ in true }, now: Effects.system.now())
        let rules = AuditRule.all.filter { $0.severity == .error }
        return try await findings(of: rules, terms).map { "audit: \($0.rule) \($0.user.rawValue) \($0.evidence.items)" }
    }

    /// The findings of `rules`, in the order in which they are reported.
    package func findings(
        of rules: [AuditRule] = AuditRule.all,
        _ terms: AuditTerms,
        _ selection: AccountSnapshots.Selection = .all
    ) async throws -> [Finding] {
        let reported = Mutex<[Finding]>([])
        let snapshots = AccountSnapshots(configuration, temporaryFolder: "/tmp")
        _ = try await Audit(snapshots, rules: rules, terms: terms).run(
            selection,
            tenant: nil,
            onFinding: { finding in reported.withLock { $0.append(finding) } },
            report: { _ in }
        )
        return reported.withLock { $0 }
    }

    /// The stored decisions that the rules decide differently today.
    private func decisionsAnsweredOtherwise() async throws -> [String] {
        let stored: [String?] = try await rows(
            """
            SELECT policy_version || ' ' || decision::text
            FROM account_events, jsonb_array_elements(decisions) AS decision LIMIT 2000
            """
        )
        return stored.compactMap { text -> String? in
            guard let parts = text?.split(separator: " ", maxSplits: 1), parts.count == 2,
                let version = Int64(parts[0]), let value = try? JSONValue(parsing: Array(parts[1].utf8)),
                let decision = DecisionRecord(stored: value, policyVersion: version)
            else { return "decision that cannot be read: \(text ?? "")" }
            let (rule, answer) = decision.replayed
            return rule == decision.rule && answer == decision.answer ? nil : "decision not repeated: \(parts[1])"
        }
    }

    /// Events of sign-ins, links and conflicts without a recorded decision, except ordinary sign-ins.
    package func unexplainedEvents() async throws -> [String] {
        try await rows(
            """
            SELECT kind || ' ' || rule || ' ' || user_id FROM account_events
            WHERE decisions IS NULL
                AND NOT (policy_version IS NOT NULL AND rule = ANY(\(Rule.ordinarySignIns.map(\.rawValue))))
                AND kind IN ('signed-in', 'method-linked', 'account-taken-over', 'conflict-opened', 'refused')
            """ as Query<String?>
        ).compactMap { $0 }
    }

    /// Number of rows in each table, by name, to check that nothing was written.
    package func rowCounts() async throws -> [String: Int64] {
        let counts: [String?] = try await rows(
            """
            SELECT table_name || ' ' || (xpath('//n/text()',
                query_to_xml(format('SELECT count(*) AS n FROM %I', table_name), false, true, '')))[1]::text
            FROM information_schema.tables
            WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
                AND NOT (SELECT relispartition FROM pg_class WHERE oid = format('public.%I', table_name)::regclass)
            """
        )
        return Dictionary(
            uniqueKeysWithValues: counts.compactMap(\.self).map { line in
                let parts = line.split(separator: " ")
                return (String(parts[0]), Int64(parts[1]) ?? -1)
            }
        )
    }

    /// A digest of the rows of each table, by name, to check that nothing was changed.
    package func rowDigests() async throws -> [String: String] {
        let digests: [String?] = try await rows(
            """
            SELECT table_name || ' ' || md5(query_to_xml(
                format('SELECT md5(t::text) AS digest FROM %I AS t ORDER BY 1', table_name), false, true, '')::text)
            FROM information_schema.tables
            WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
                AND NOT (SELECT relispartition FROM pg_class WHERE oid = format('public.%I', table_name)::regclass)
            """
        )
        return Dictionary(
            uniqueKeysWithValues: digests.compactMap(\.self).map { line in
                let parts = line.split(separator: " ")
                return (String(parts[0]), String(parts[1]))
            }
        )
    }

    /// The number of rows, only for tables with data of accounts.
    package func accountRowCounts() async throws -> [String: Int64] {
        let tables: Set = [
            "users", "identifiers", "password_credentials", "linked_providers", "sign_in_methods", "sessions",
            "account_events",
        ]
        return try await rowCounts().filter { tables.contains($0.key) }
    }
}

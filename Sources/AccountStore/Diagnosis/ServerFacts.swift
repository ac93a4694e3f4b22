package import AccountLinking
package import Postgres

/// The properties of a PostgreSQL server and of Concord's role in it, for `concord doctor`. Needs no schema.
package struct ServerFacts: Sendable, RowDecodable {
    package let version: String
    /// 150004 for version 15.4.
    package let versionNumber: Int64
    package let encoding: String
    package let collation: String
    /// Connections that roles other than superusers can open.
    package let connectionsMax: Int64
    /// The lower limit of the database and the role; negative if there is none.
    package let connectionLimit: Int64
    /// Connections of clients, without this one.
    package let connectionsOpen: Int64
    /// The hosts from which servers of Concord are connected.
    package let hostsOfConcord: Int64
    package let role: String
    package let isSuperuser: Bool
    package let isInRecovery: Bool
    /// The protocol of this connection, such as `TLSv1.3`; empty without TLS.
    package let tlsVersion: String
    package let clock: Timestamp

    package init(row: inout RowDecoder) throws(PostgresError) {
        version = try row.next()
        versionNumber = try row.next()
        encoding = try row.next()
        collation = try row.next()
        connectionsMax = try row.next()
        connectionLimit = try row.next()
        connectionsOpen = try row.next()
        hostsOfConcord = try row.next()
        role = try row.next()
        isSuperuser = try row.next()
        isInRecovery = try row.next()
        tlsVersion = try row.next()
        clock = try row.next()
    }

    package static let current: Query<ServerFacts> = """
        SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
            pg_encoding_to_char(d.encoding)::text, d.datcollate::text,
            current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint,
            CASE WHEN least(d.datconnlimit, r.rolconnlimit) < 0 THEN greatest(d.datconnlimit, r.rolconnlimit)
                ELSE least(d.datconnlimit, r.rolconnlimit) END::bigint,
            a.all_open, a.hosts, r.rolname::text, r.rolsuper, pg_is_in_recovery(),
            coalesce((SELECT s.version FROM pg_stat_ssl AS s WHERE s.pid = pg_backend_pid() AND s.ssl), '')::text,
            clock_timestamp()
        FROM pg_database AS d, pg_roles AS r, (
            SELECT count(*) AS all_open,
                count(DISTINCT coalesce(client_addr::text, '')) FILTER (WHERE application_name = 'concord') AS hosts
            FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
        ) AS a
        WHERE d.datname = current_database() AND r.rolname = current_user
        """

    /// The value of a setting in this transaction, with times in milliseconds.
    package static func setting(_ name: String) -> Query<String> {
        "SELECT setting FROM pg_settings WHERE name = \(name)"
    }

    /// The tables that the role cannot both read and write. Servers only read the ledger of migrations.
    package static let tablesWithoutRights: Query<String> = """
        SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT (
            has_table_privilege(c.oid, 'SELECT') AND (c.relname = 'schema_migrations' OR (
                has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
                AND has_table_privilege(c.oid, 'DELETE'))))
        ORDER BY c.relname
        """
}

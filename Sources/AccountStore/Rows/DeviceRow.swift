package import AccountLinking
package import Postgres

struct DeviceRow: RowDecodable {
    /// A device, or the latest revocation of the account, whose id is `revocationID`.
    let device: Device

    /// The id of the row that stores the latest revocation. It is no digest, so no device has it.
    fileprivate static let revocationID = [UInt8](repeating: 0, count: 32)
    /// The revocation must outlive every session from before it. It ends with its account.
    private static let revocationSeconds: Int64 = 100 * 365 * 86_400

    /// A device with its account.
    private struct Owned {
        var tenant: TenantID
        var user: UserID
        var device: Device
    }

    private static let columns = Columns<Owned>(
        of: "devices",
        [
            Column(written: "tenant_id", \.tenant), Column(written: "user_id", \.user),
            Column("device_id", \.device.id), Column("slot", \.device.slot),
            Column("session_epoch", \.device.sessionEpoch), Column("name", \.device.name),
            Column("created_at", \.device.createdAt), Column("last_used_at", \.device.lastUsedAt),
            Column("expires_at", \.device.expiresAt),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        device = try Self.device(&row)
    }

    fileprivate static func device(_ row: inout RowDecoder) throws(PostgresError) -> Device {
        var values = columns.values(&row)
        return Device(
            id: try values(\.device.id),
            slot: try values(\.device.slot),
            sessionEpoch: try values(\.device.sessionEpoch),
            name: try values(\.device.name),
            createdAt: try values(\.device.createdAt),
            lastUsedAt: try values(\.device.lastUsedAt),
            expiresAt: try values(\.device.expiresAt)
        )
    }

    /// The devices of `user` and their latest revocation, at most `Device.countMax` rows.
    static func of(_ user: UserID, tenant: TenantID) -> Query<DeviceRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND user_id = \(user)
        ORDER BY slot
        """
    }

    private static func key(_ id: [UInt8], of user: UserID, tenant: TenantID) -> SQL {
        "tenant_id = \(tenant) AND user_id = \(user) AND device_id = \(id)"
    }

    /// The device `id` of `user`, as a lookup: one statement finds many. The key is the device's 32 bytes, then the
    /// user id. `LIMIT` makes each key an index lookup: a join would scan a table of some thousand rows for ten keys.
    static func lookup(_ id: [UInt8], of user: UserID, tenant: TenantID) -> Query<FoundDeviceRow> {
        Query(
            keyColumn: 0,
            """
            SELECT keys.key, \(columns.names)
            FROM (SELECT \(tenant)::text AS id) AS project
            CROSS JOIN unnest(\([id + Array(user.rawValue.utf8)])) AS keys (key)
            CROSS JOIN LATERAL (
                SELECT * FROM \(table: "devices")
                WHERE tenant_id = project.id AND user_id = convert_from(substr(keys.key, 33), 'UTF8')
                    AND device_id = substr(keys.key, 1, 32)
                LIMIT 1
            ) AS devices
            """,
            onCitus: """
                SELECT device_id, \(columns.names) FROM \(table: "devices")
                WHERE \(key(id, of: user, tenant: tenant))
                """
        )
    }

    /// Raises 23505 if the slot is taken or the device is there, 23503 if the user was deleted.
    static func insert(_ device: Device, of user: UserID, tenant: TenantID) -> SQL {
        columns.insert(Owned(tenant: tenant, user: user, device: device))
    }

    /// Renews the device, unless it was revoked or replaced since it was read. `assertThere` must follow.
    static func renew(_ device: Device, of user: UserID, tenant: TenantID) -> SQL {
        """
        UPDATE devices SET name = \(device.name), last_used_at = greatest(last_used_at, \(device.lastUsedAt)),
            expires_at = greatest(expires_at, \(device.expiresAt))
        WHERE \(key(device.id, of: user, tenant: tenant)) AND created_at = \(device.createdAt)
        """
    }

    /// Deletes the device, unless it was renewed since it was read: then the insert into its slot fails.
    static func deleteUnlessRenewed(_ device: Device, of user: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM devices
        WHERE \(key(device.id, of: user, tenant: tenant)) AND created_at = \(device.createdAt)
            AND last_used_at = \(device.lastUsedAt)
        """
    }

    /// Locks the device for this transaction. `assertThere` must follow.
    static func hold(_ device: Device, of user: UserID, tenant: TenantID) -> SQL {
        """
        SELECT 1 FROM \(table: "devices") WHERE \(key(device.id, of: user, tenant: tenant)) FOR UPDATE
        """
    }

    /// Raises 22012 (division by zero) unless the device is there, as it was created.
    static func assertThere(_ device: Device, of user: UserID, tenant: TenantID) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM devices
        WHERE \(key(device.id, of: user, tenant: tenant)) AND created_at = \(device.createdAt)
        """
    }

    static func delete(_ device: Device, of user: UserID, tenant: TenantID) -> SQL {
        "DELETE FROM devices WHERE \(key(device.id, of: user, tenant: tenant))"
    }

    /// Stores that `device` was revoked. The first revocation of an account takes the place of the device, which must
    /// be deleted before.
    ///
    /// If the clock of another server is ahead, the last use counts: no session that used the device began later.
    static func insertRevocation(of device: Device, of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        let revokedAt = max(now, device.lastUsedAt)
        let row = Device(
            id: revocationID,
            slot: device.slot,
            sessionEpoch: device.sessionEpoch,
            name: nil,
            createdAt: revokedAt,
            lastUsedAt: revokedAt,
            expiresAt: revokedAt.adding(seconds: revocationSeconds)
        )
        return """
            \(columns.insert(Owned(tenant: tenant, user: user, device: row)))
            ON CONFLICT (tenant_id, user_id, device_id) DO UPDATE SET
                session_epoch = greatest(devices.session_epoch, excluded.session_epoch),
                created_at = greatest(devices.created_at, excluded.created_at),
                last_used_at = greatest(devices.last_used_at, excluded.last_used_at),
                expires_at = greatest(devices.expires_at, excluded.expires_at)
            """
    }
}

/// A device that a lookup found, behind its key.
struct FoundDeviceRow: RowDecodable {
    /// `nil` for the row of a revocation.
    let device: Device?

    init(row: inout RowDecoder) throws(PostgresError) {
        _ = try row.next(Bytes.self)
        let found = try DeviceRow.device(&row)
        device = found.id == DeviceRow.revocationID ? nil : found
    }
}

extension AccountDevices {
    fileprivate init(_ rows: [DeviceRow]) {
        let revocation = rows.first { $0.device.id == DeviceRow.revocationID }?.device
        self.init(
            rows.map(\.device).filter { $0.id != DeviceRow.revocationID },
            revocation: revocation.map {
                DeviceRevocation(slot: $0.slot, sessionEpoch: $0.sessionEpoch, revokedAt: $0.createdAt)
            }
        )
    }
}

extension AccountStore {
    /// The devices of an account, by slot. One round trip.
    package func devices(of user: UserID, tenant: TenantID) async throws(PostgresError) -> [Device] {
        AccountDevices(try await client.read(DeviceRow.of(user, tenant: tenant))).devices
    }

    /// The devices of an account, and the account; `nil` if it does not exist. One round trip.
    package func devicesAndUser(
        _ user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> (devices: AccountDevices, user: UserRecord?) {
        // The devices first: devices that are newer than the account would belong to a later epoch.
        let (devices, users) = try await client.read(
            DeviceRow.of(user, tenant: tenant),
            UserRow.withID(user, tenant: tenant)
        )
        return (AccountDevices(devices), users.records.first)
    }

    /// Stores `device` at its place. Its slot and id are those of `place`.
    /// - Returns: `.factsMoved` if another request took the place, the device was revoked, or the account was deleted.
    package func remember(
        _ device: Device,
        at place: DevicePlace,
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("device-register")
        switch place {
        case .renew:
            batch.append([
                DeviceRow.renew(device, of: user, tenant: tenant),
                DeviceRow.assertThere(device, of: user, tenant: tenant),
            ])
        case .take: batch.append(DeviceRow.insert(device, of: user, tenant: tenant))
        case .replace(let old):
            batch.append([
                DeviceRow.deleteUnlessRenewed(old, of: user, tenant: tenant),
                DeviceRow.insert(device, of: user, tenant: tenant),
            ])
        }
        // A repetition renews the device.
        return try await applying(batch) { () throws(PostgresError) in .factsMoved }
    }

    /// Deletes a device, and stores that one was revoked at `now`.
    /// - Returns: `.factsMoved` if it is gone.
    package func revoke(
        _ device: Device,
        of user: UserID,
        tenant: TenantID,
        at now: Timestamp,
        sideWrites: [AccountWrite.SideWrite]
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch(
            "device-revoke",
            [
                DeviceRow.hold(device, of: user, tenant: tenant),
                DeviceRow.assertThere(device, of: user, tenant: tenant),
                DeviceRow.delete(device, of: user, tenant: tenant),
                DeviceRow.insertRevocation(of: device, of: user, tenant: tenant, at: now),
            ]
        )
        for sideWrite in sideWrites { batch.append(sideWrite.statements) }
        return try await applying(batch) { () throws(PostgresError) in .factsMoved }
    }
}

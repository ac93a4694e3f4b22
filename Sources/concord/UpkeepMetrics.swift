import AccountLinking
import AccountStore
import Metrics

/// Times of what the server maintains. They are times, not ages, because an age stops growing if the task that measures
/// it fails.
struct UpkeepMetrics: Sendable {
    static let purged = "concord_purge_time_seconds"
    static let signingKeyStart = "concord_signing_key_start_time_seconds"
    static let certificateExpiry = "concord_tls_certificate_expiry_time_seconds"

    private let purgeTime: Meter
    private let signingKeyStarts: [SigningKeyRecord.Purpose: Meter]
    private let certificate: Meter

    init(_ factory: any MetricsFactory) {
        purgeTime = Meter(label: Self.purged, factory: factory)
        signingKeyStarts = Dictionary(
            uniqueKeysWithValues: SigningKeyRecord.Purpose.allCases.map { purpose in
                let dimensions = [("purpose", purpose.rawValue)]
                return (purpose, Meter(label: Self.signingKeyStart, dimensions: dimensions, factory: factory))
            }
        )
        certificate = Meter(label: Self.certificateExpiry, factory: factory)
    }

    /// Records that every row that had expired at `time` is deleted.
    func purged(at time: Timestamp) {
        purgeTime.set(time.secondsSinceEpoch)
    }

    func signs(_ purpose: SigningKeyRecord.Purpose, since start: Timestamp) {
        signingKeyStarts[purpose]?.set(start.secondsSinceEpoch)
    }

    func certificateExpires(at secondsSinceEpoch: Int64) {
        certificate.set(secondsSinceEpoch)
    }
}

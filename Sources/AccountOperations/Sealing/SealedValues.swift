package import AccountStore

/// The sealed values of the database: counts them by key, and seals them again with the current key.
package struct SealedValues: Sendable {
    /// Number of values in a column that one key seals.
    package struct Use: Sendable, Hashable {
        package let column: SealedColumn
        /// `nil` if the values name no key.
        package let keyID: String?
        package let count: Int64

        package init(column: SealedColumn, keyID: String?, count: Int64) {
            self.column = column
            self.keyID = keyID
            self.count = count
        }
    }

    /// A reason why a value cannot be sealed again.
    package enum Obstacle: Sendable, Hashable {
        /// The key is not configured.
        case unknownKey(String)
        /// The configured key has the right id and the wrong bytes, or the value was modified.
        case wrongKey(String?)
        case malformed
    }

    /// The outcome of a run.
    package struct Outcome: Sendable, Hashable {
        /// Number of values that were sealed again, or would be.
        package var resealed: Int64 = 0
        /// Number of values that other transactions changed or held meanwhile, in every pass.
        package var skipped: Int64 = 0
        /// Number of values that no configured key opens, by column and reason. They stay as they are.
        package var unreadable: [SealedColumn: [Obstacle: Int64]] = [:]
        /// False if the run was stopped before its end.
        package var isFinished = true

        package init() {}

        package var unreadableCount: Int64 { unreadable.values.reduce(0) { $0 + $1.values.reduce(0, +) } }
    }

    private let store: AccountStore
    private let sealer: Sealer

    /// Passes over a column while other transactions change its values.
    private static let passesMax = 5
    /// Bytes of the values in one transaction, unless a single value is larger.
    private static let transactionBytesMax = 1 << 20

    package init(store: AccountStore, sealer: Sealer) {
        self.store = store
        self.sealer = sealer
    }

    /// Counts the values of each column by key. Opens none.
    /// - Throws: `PostgresError`.
    package func uses() async throws -> [Use] {
        var counts: [SealedColumn: [String?: Int64]] = [:]
        for count in try await store.sealedCounts() {
            counts[count.column, default: [:]][Sealer.keyID(inPrefix: count.prefix), default: 0] += count.count
        }
        return SealedColumn.allCases.flatMap { column in
            (counts[column] ?? [:]).map { Use(column: column, keyID: $0.key, count: $0.value) }
                .sorted { KeyOrder.precedes($0.keyID, $1.keyID) }
        }
    }

    /// Seals every value that another key seals with the current key. Runs beside servers: a value that another
    /// transaction changes stays as that transaction wrote it. A second run continues where the first ended.
    ///
    /// - `batch`: number of rows that are read at once.
    /// - `dryRun`: true to open the values and write none.
    /// - `progress`: called with the number of read rows.
    /// - `mustStop`: asked between batches.
    /// - Throws: `PostgresError`. Every batch before it is complete.
    package func reseal(
        batch: Int,
        dryRun: Bool = false,
        progress: @Sendable (Int64) -> Void = { _ in },
        mustStop: @Sendable () -> Bool = { false }
    ) async throws -> Outcome {
        var run = Run(values: self, batch: batch, dryRun: dryRun)
        for column in SealedColumn.allCases {
            for _ in 0..<Self.passesMax {
                let skipped = try await run.pass(over: column, progress: progress, mustStop: mustStop)
                if !run.outcome.isFinished { return run.outcome }
                if skipped == 0 { break }
            }
        }
        return run.outcome
    }

    private struct Run {
        let values: SealedValues
        let batch: Int
        let dryRun: Bool
        var outcome = Outcome()
        private var rowsRead: Int64 = 0

        init(values: SealedValues, batch: Int, dryRun: Bool) {
            self.values = values
            self.batch = batch
            self.dryRun = dryRun
        }

        /// Returns the number of values that other transactions changed or held.
        mutating func pass(
            over column: SealedColumn,
            progress: @Sendable (Int64) -> Void,
            mustStop: @Sendable () -> Bool
        ) async throws -> Int64 {
            outcome.unreadable[column] = nil
            var skipped: Int64 = 0
            var place: [String]?
            while true {
                if mustStop() {
                    outcome.isFinished = false
                    return skipped
                }
                let rows = try await values.store.sealedRows(
                    column,
                    after: place,
                    rowsMax: batch,
                    unlessPrefixed: values.sealer.prefix
                )
                let resealed = try resealed(rows, of: column)
                for part in Self.transactions(resealed) {
                    let replaced = dryRun ? part.count : try await values.store.reseal(column, part)
                    outcome.resealed += Int64(replaced)
                    skipped += Int64(part.count - replaced)
                }
                rowsRead += Int64(rows.count)
                progress(rowsRead)
                place = rows.last?.key
                guard rows.count == batch, place != nil else { break }
            }
            outcome.skipped += skipped
            return skipped
        }

        private mutating func resealed(_ rows: [SealedRow], of column: SealedColumn) throws -> [ResealedValue] {
            var resealed: [ResealedValue] = []
            for row in rows {
                guard let sealed = row.sealed else { continue }
                guard let context = row.context(in: column) else {
                    outcome.unreadable[column, default: [:]][.malformed, default: 0] += 1
                    continue
                }
                let plaintext: [UInt8]
                do throws(Sealer.OpeningFailure) {
                    plaintext = try values.sealer.open(sealed, context: context)
                } catch {
                    outcome.unreadable[column, default: [:]][Obstacle(error, sealed), default: 0] += 1
                    continue
                }
                resealed.append(
                    ResealedValue(
                        key: row.key,
                        old: sealed,
                        new: try values.sealer.seal(plaintext, context: context)
                    )
                )
            }
            return resealed
        }

        private static func transactions(_ values: [ResealedValue]) -> [[ResealedValue]] {
            var parts: [[ResealedValue]] = []
            var bytes = 0
            for value in values {
                if parts.isEmpty || bytes + value.old.count > SealedValues.transactionBytesMax {
                    parts.append([])
                    bytes = 0
                }
                parts[parts.count - 1].append(value)
                bytes += value.old.count
            }
            return parts
        }
    }
}

extension SealedValues.Obstacle {
    fileprivate init(_ failure: Sealer.OpeningFailure, _ sealed: [UInt8]) {
        self =
            switch failure {
            case .malformed: .malformed
            case .unknownKey(let id): .unknownKey(id)
            case .notAuthentic:
                .wrongKey(Sealer.keyID(inPrefix: Array(sealed.prefix(2 + Int(sealed[1])))))
            }
    }
}

/// The order in which keys are listed: by number, then others, then no key.
package enum KeyOrder {
    package static func precedes(_ left: String?, _ right: String?) -> Bool {
        func rank(_ id: String?) -> (Int, Int, String) {
            guard let id else { return (2, 0, "") }
            return Int(id).map { (0, $0, id) } ?? (1, 0, id)
        }
        return rank(left) < rank(right)
    }
}

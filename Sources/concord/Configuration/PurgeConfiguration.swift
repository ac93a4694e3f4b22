/// The settings for the deletion of expired rows.
struct PurgeConfiguration: Sendable, Hashable {
    let interval: Duration
    /// Retention of expired rows.
    let keep: Duration
    /// Time for which an applied audit plan can be undone.
    let keepUndo: Duration
    /// Maximum number of rows of one kind in a transaction.
    let rowsMax: Int
}

extension PurgeConfiguration {
    static let entries: [ConfigurationEntry] = [intervalKey.entry, keepKey.entry, keepUndoKey.entry, rowsMaxKey.entry]

    private static let intervalKey = ConfigurationKey(
        "purge.interval",
        .duration(milliseconds: 1000...86_400_000),
        default: .seconds(60),
        "How often expired rows are deleted, plus or minus 25 %, by one server at a time"
    )
    private static let keepKey = ConfigurationKey(
        "purge.keep",
        .duration(milliseconds: 0...(366 * 86_400_000)),
        default: .seconds(7 * 86_400),
        "Retention of expired conflicts, codes and messages"
    )
    private static let keepUndoKey = ConfigurationKey(
        "purge.keep_undo",
        .duration(milliseconds: 86_400_000...(366 * 86_400_000)),
        default: .seconds(30 * 86_400),
        "How long an audit plan can be undone after it was applied"
    )
    private static let rowsMaxKey = ConfigurationKey(
        "purge.rows_max",
        .wholeNumber(1...10_000),
        default: 10_000,
        "Most rows deleted in one transaction. Concord deletes fewer if that takes longer than 0.1 seconds"
    )

    /// Reads the `purge` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        interval = reader.value(Self.intervalKey)
        keep = reader.value(Self.keepKey)
        keepUndo = reader.value(Self.keepUndoKey)
        rowsMax = reader.value(Self.rowsMaxKey)
    }
}

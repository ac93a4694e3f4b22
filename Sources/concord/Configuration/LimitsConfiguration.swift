/// The limits of one request and of one process.
struct LimitsConfiguration: Sendable, Hashable {
    /// Connections of the public listener; the limit on open files may allow fewer.
    let connections: Int
    /// Maximum time from the first byte of a request to its last, and from there to its answer.
    let requestTimeout: Duration
    let bodyBytesMax: Int
    /// At most 64, because stored documents are parsed with that limit.
    let jsonDepthMax: Int
    /// Maximum time for requests in flight after SIGTERM.
    let drainTimeout: Duration
    /// Maximum time for everything that one operation fetches from an identity provider.
    let providerCallTimeout: Duration
    let passwordHashingThreads: Int
    /// Maximum number of passwords that wait for a thread. Further requests get 503.
    let passwordHashingQueueLengthMax: Int
}

extension LimitsConfiguration {
    static let entries: [ConfigurationEntry] = [
        connectionsKey.entry, requestTimeoutKey.entry, bodyBytesMaxKey.entry, jsonDepthMaxKey.entry,
        drainTimeoutKey.entry,
        providerCallTimeoutKey.entry, passwordHashingThreadsKey.entry, passwordHashingQueueLengthMaxKey.entry,
    ]

    private static let connectionsKey = ConfigurationKey(
        "limits.connections",
        .wholeNumber(1...1_000_000),
        default: 10_000,
        "Open client connections; at the limit, idle ones are closed and new ones wait"
    )
    private static let requestTimeoutKey = ConfigurationKey(
        "limits.request_timeout",
        .duration(milliseconds: 1000...300_000),
        default: .seconds(10),
        "Time for a request to arrive, and then for its answer; slower ones are cut off or get 503"
    )
    private static let bodyBytesMaxKey = ConfigurationKey(
        "limits.body_bytes_max",
        .byteCount(1024...(64 << 20)),
        default: 1 << 20,
        "Maximum size of a request body"
    )
    private static let jsonDepthMaxKey = ConfigurationKey(
        "limits.json_depth_max",
        .wholeNumber(8...64),
        default: 64,
        "Maximum nesting of arrays and objects in a request body"
    )
    private static let drainTimeoutKey = ConfigurationKey(
        "limits.drain_timeout",
        .duration(milliseconds: 0...300_000),
        default: .seconds(10),
        "Time for requests in flight to end after SIGTERM"
    )
    private static let providerCallTimeoutKey = ConfigurationKey(
        "limits.provider_call_timeout",
        .duration(milliseconds: 100...60_000),
        default: .seconds(5),
        "Time for all that one operation fetches from a provider"
    )
    private static let passwordHashingThreadsKey = ConfigurationKey(
        "limits.password_hashing_threads",
        .wholeNumber(1...256),
        default: 1,
        "Threads that hash passwords, each one core at full load"
    )
    private static let passwordHashingQueueLengthMaxKey = ConfigurationKey(
        "limits.password_hashing_queue_length_max",
        .wholeNumber(1...65536),
        default: 64,
        "Passwords that may wait for such a thread, shared fairly among networks; others get 503"
    )

    /// Reads the `limits` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        connections = reader.value(Self.connectionsKey)
        requestTimeout = reader.value(Self.requestTimeoutKey)
        bodyBytesMax = reader.value(Self.bodyBytesMaxKey)
        jsonDepthMax = reader.value(Self.jsonDepthMaxKey)
        drainTimeout = reader.value(Self.drainTimeoutKey)
        providerCallTimeout = reader.value(Self.providerCallTimeoutKey)
        passwordHashingThreads = reader.value(Self.passwordHashingThreadsKey)
        passwordHashingQueueLengthMax = reader.value(Self.passwordHashingQueueLengthMaxKey)
    }
}

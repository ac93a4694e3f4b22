import CLibpq

/// One `PGconn`, driven without blocking. Not Sendable: one thread at a time uses it.
///
/// Only this file and `ResultSet.swift` hold libpq's pointers.
final class Connection {
    enum Progress {
        case waitsForRead
        case waitsForWrite
        case connected
        case failed
    }

    enum FlushState {
        case done
        case pending
        case failed
    }

    private let pointer: OpaquePointer
    private var scratch = ParameterScratch()

    /// Starts to connect. libpq looks up a host name before this returns, which can block: pass an address where that
    /// matters (`DatabaseHosts`).
    /// - Throws: `.unavailable` if libpq gives up at once.
    init(connecting parameters: [ConnectionParameter]) throws(PostgresError) {
        guard let pointer = Self.start(parameters) else { throw PostgresError(.misuse, "out of memory") }
        self.pointer = pointer
        // Without a receiver libpq writes notices to standard error.
        _ = PQsetNoticeReceiver(pointer, { _, _ in }, nil)
        // Adds the server's code to the reason of a failed connection.
        _ = PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        guard PQstatus(pointer) != CONNECTION_BAD else { throw connectFailure() }
    }

    deinit {
        PQfinish(pointer)
    }

    private static func start(_ parameters: [ConnectionParameter]) -> OpaquePointer? {
        withCStrings(parameters.map(\.keyword)) { keywords in
            withCStrings(parameters.map(\.value)) { values in
                PQconnectStartParams(keywords, values, 0)
            }
        }
    }

    /// The descriptor to watch. It may change while connecting. Negative if there is none.
    var socket: Int32 { PQsocket(pointer) }

    var isAlive: Bool { PQstatus(pointer) == CONNECTION_OK }

    /// `true` if the server is between transactions, as of the last answer.
    var isBetweenTransactions: Bool { PQtransactionStatus(pointer) == PQTRANS_IDLE }

    func continueConnecting() -> Progress {
        switch PQconnectPoll(pointer) {
        case PGRES_POLLING_OK: .connected
        case PGRES_POLLING_READING: .waitsForRead
        case PGRES_POLLING_WRITING: .waitsForWrite
        default: .failed
        }
    }

    /// The reason of a failed connection. Names host and user, never the password.
    func connectFailure() -> PostgresError {
        let message = ConnectMessage(text(PQerrorMessage(pointer)))
        return PostgresError(.unavailable, message.line, connectFailure: failure(message.reason, message.state))
    }

    /// The error of a connection that took too long.
    func connectTimeout() -> PostgresError {
        PostgresError(.unavailable, "server did not answer in time", connectFailure: failure("no answer in time", nil))
    }

    private func failure(_ reason: String, _ state: SQLState?) -> ConnectFailure {
        ConnectFailure(
            place: DatabaseHost.place(text(PQhost(pointer)), port: text(PQport(pointer))),
            user: text(PQuser(pointer)),
            database: text(PQdb(pointer)),
            state: state,
            reason: reason
        )
    }

    private func text(_ characters: UnsafePointer<CChar>?) -> String {
        characters.map { String(cString: $0) } ?? ""
    }

    /// Makes sends return at once, even if the socket accepts nothing.
    func makeNonBlocking() -> Bool {
        PQsetnonblocking(pointer, 1) == 0
    }

    func enterPipelineMode() -> Bool {
        PQenterPipelineMode(pointer) == 1
    }

    // MARK: Sending. Each returns false when the connection is of no further use.

    /// Runs a text of several statements. Not in pipeline mode.
    func send(script: String) -> Bool {
        PQsendQuery(pointer, script) == 1
    }

    func sendPrepare(name: String, text: String, types: [UInt32]) -> Bool {
        PQsendPrepare(pointer, name, text, Int32(types.count), types) == 1
    }

    func sendPrepared(name: String, _ statement: SQL) -> Bool {
        scratch.withParameters(of: statement) { count, values, lengths, formats in
            PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1) == 1
        }
    }

    func sendUnnamed(_ statement: SQL) -> Bool {
        scratch.withParameters(of: statement) { count, values, lengths, formats in
            PQsendQueryParams(pointer, statement.text, count, statement.types, values, lengths, formats, 1) == 1
        }
    }

    /// Ends what the server treats as one transaction, and flushes as much as the socket accepts.
    func sendSync() -> Bool {
        PQpipelineSync(pointer) == 1
    }

    func flush() -> FlushState {
        switch PQflush(pointer) {
        case 0: .done
        case 1: .pending
        default: .failed
        }
    }

    // MARK: Receiving

    /// Reads from the socket. Returns `false` if the connection broke; earlier results can still be read.
    func consumeInput() -> Bool {
        guard PQconsumeInput(pointer) == 1 else { return false }
        // libpq 15 may leave half a TLS or GSSAPI record decrypted but unread, and the socket is then not readable. A
        // second call reads the rest.
        let isEncrypted = PQsslInUse(pointer) == 1 || PQgssEncInUse(pointer) == 1
        return !isEncrypted || PQconsumeInput(pointer) == 1
    }

    /// `true` if `nextResult` would wait for the server.
    var isWaiting: Bool { PQisBusy(pointer) == 1 }

    /// Returns the next result; `nil` ends the results of one statement.
    func nextResult() -> ResultSet? {
        PQgetResult(pointer).map { ResultSet(owning: $0) }
    }

    /// Progress of a `COPY … TO STDOUT`.
    enum CopyProgress {
        case message
        /// The next message has not come yet.
        case pending
        /// There are no more messages; `nextResult` says whether all have come.
        case over
    }

    /// Makes `row` the next message of a `COPY … TO STDOUT`, if it has come.
    func nextCopyMessage(into row: inout CopiedRow) -> CopyProgress {
        var message: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(pointer, &message, 1)
        guard count > 0, let message else { return count == 0 ? .pending : .over }
        defer { PQfreemem(message) }
        row.replace(with: UnsafeRawBufferPointer(start: message, count: Int(count)))
        return .message
    }

    /// Returns `text` as an SQL literal; `nil` if it cannot be one.
    func literal(_ text: String) -> String? { quoted(text, PQescapeLiteral) }

    /// Returns `name` as an SQL identifier; `nil` if it cannot be one.
    func identifier(_ name: String) -> String? { quoted(name, PQescapeIdentifier) }

    private func quoted(
        _ text: String,
        _ quote: (OpaquePointer?, UnsafePointer<CChar>?, Int) -> UnsafeMutablePointer<CChar>?
    ) -> String? {
        var text = text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { Self.text(owning: quote(pointer, $0.baseAddress, $0.count)) }
        }
    }

    /// Returns what the server stores of a role's password (SCRAM-SHA-256, RFC 5802); `nil` if it cannot be made.
    func passwordVerifier(_ password: String, role: String) -> String? {
        Self.text(owning: PQencryptPasswordConn(pointer, password, role, "scram-sha-256"))
    }

    private static func text(owning text: UnsafeMutablePointer<CChar>?) -> String? {
        guard let text else { return nil }
        defer { PQfreemem(text) }
        return String(cString: text)
    }

    /// Returns a handle that cancels the running statement from any thread.
    func cancelHandle() -> CancelHandle? {
        PQgetCancel(pointer).map { CancelHandle(owning: $0) }
    }
}

/// Cancels the statement that a connection runs.
final class CancelHandle: @unchecked Sendable {
    // PROOF of Sendable: a PGcancel is a copy of address and key that never changes after PQgetCancel made it, and
    // libpq documents PQcancel as safe from any thread. It is freed once, by deinit.
    private let pointer: OpaquePointer

    fileprivate init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        PQfreeCancel(pointer)
    }

    /// Blocks until the server has accepted the request, on a connection made for it.
    func cancel() {
        var message = [CChar](repeating: 0, count: 256)
        _ = PQcancel(pointer, &message, Int32(message.count))
    }
}

extension ConnectionParameter {
    /// Splits a connection string into its options.
    /// - Throws: `.configuration`, without libpq's message, which can repeat the part that it did not understand.
    static func parse(_ connectionString: String) throws(PostgresError) -> [ConnectionParameter] {
        guard let options = PQconninfoParse(connectionString, nil) else {
            throw PostgresError(
                .configuration,
                "connection string is neither a postgresql:// URL nor keyword=value pairs"
            )
        }
        defer { PQconninfoFree(options) }
        var parameters: [ConnectionParameter] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                let isSecret = option.pointee.dispchar.map { String(cString: $0) == "*" } ?? false
                parameters.append(
                    ConnectionParameter(
                        keyword: String(cString: keyword),
                        value: String(cString: value),
                        isSecret: isSecret
                    )
                )
            }
            option += 1
        }
        guard parameters.haveHosts else {
            throw PostgresError(
                .configuration,
                "host or port of the connection string is none: percent-encode what is special in user and password, "
                    + "such as @ (%40), / (%2F) and : (%3A)"
            )
        }
        return parameters
    }
}

/// The arrays in which libpq expects parameters, reused for all statements.
private struct ParameterScratch {
    private var values: [UnsafePointer<CChar>?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    /// Calls `body` with pointers into `statement`'s values. They are valid only inside.
    mutating func withParameters(
        of statement: SQL,
        _ body: (
            Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Bool
    ) -> Bool {
        values.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        while formats.count < statement.parameters.count { formats.append(1) }
        return statement.values.bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                for parameter in statement.parameters {
                    lengths.append(parameter.valueLength ?? 0)
                    values.append(address(of: parameter, in: characters))
                }
                return body(Int32(values.count), values, lengths, formats)
            }
        }
    }

    /// Returns `nil` only for NULL. An empty value needs an address too, although libpq reads nothing from it.
    private func address(
        of parameter: SQL.Parameter,
        in characters: UnsafeBufferPointer<CChar>
    ) -> UnsafePointer<CChar>? {
        guard parameter.valueLength != nil else { return nil }
        let someAddress = UnsafePointer<CChar>(bitPattern: MemoryLayout<Int>.alignment)
        return characters.baseAddress.map { $0 + Int(parameter.valueOffset) } ?? someAddress
    }
}

/// Calls `body` with a null-terminated array of C strings.
private func withCStrings<Output>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Output
) -> Output {
    let storage = strings.map { $0.utf8CString }
    func collect(_ index: Int, _ pointers: inout [UnsafePointer<CChar>?]) -> Output {
        guard index < storage.count else {
            pointers.append(nil)
            return pointers.withUnsafeBufferPointer { list in
                guard let base = list.baseAddress else {
                    preconditionFailure("the list ends with nil, so it has an address")
                }
                return body(base)
            }
        }
        return storage[index].withUnsafeBufferPointer { characters in
            pointers.append(characters.baseAddress)
            return collect(index + 1, &pointers)
        }
    }
    var pointers: [UnsafePointer<CChar>?] = []
    return collect(0, &pointers)
}

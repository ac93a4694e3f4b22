package import JSON

/// Talks to providers. A port, so that tests can stand in for them.
package protocol HTTPFetching: Sendable {
    /// Fetches the document at `address`.
    ///
    /// - Parameters:
    ///   - address: a URL.
    ///   - deadline: when to give up.
    /// - Returns: the document, complete.
    /// - Throws: `ProviderUnavailable`, also for an address that may not be fetched.
    func document(
        at address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable)
        -> HTTPDocument

    /// Sends `request` and reads the answer; a redirect is an answer like any other.
    ///
    /// Sent once: what a provider takes once, such as an authorization code, may be gone after an attempt that failed.
    /// - Returns: an answer of any status, complete.
    /// - Throws: `ProviderUnavailable` when there was none, also for an address that may not be reached.
    func answer(
        to request: ProviderRequest,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> ProviderAnswer
}

/// A request to one of a provider's endpoints.
package struct ProviderRequest: Sendable, Hashable {
    package enum Method: String, Sendable, Hashable {
        case get = "GET"
        case post = "POST"
    }

    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package var method: Method
    /// A URL, with its query.
    package var address: String
    package var fields: [Field]
    package var body: [UInt8]

    package init(_ method: Method, _ address: String, fields: [Field] = [], body: [UInt8] = []) {
        self.method = method
        self.address = address
        self.fields = fields
        self.body = body
    }

    /// A form (`application/x-www-form-urlencoded`) posted to `address`.
    package static func form(
        _ parameters: [(name: String, value: String)],
        to address: String,
        fields: [Field] = []
    ) -> Self {
        let type = Field(name: "content-type", value: "application/x-www-form-urlencoded")
        return Self(.post, address, fields: [type] + fields, body: Array(PercentEncoding.form(parameters).utf8))
    }

    /// This request with one field more.
    func adding(_ name: String, _ value: String) -> Self {
        var copy = self
        copy.fields.append(Field(name: name, value: value))
        return copy
    }
}

/// The answer of a provider.
package struct ProviderAnswer: Sendable, Hashable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// The answer as a JSON object; `nil` for anything else. Ignores the media type, because not every provider sends
    /// it.
    package var json: JSONValue? {
        guard let value, value.object != nil else { return nil }
        return value
    }

    /// The same for an array.
    package var jsonArray: [JSONValue]? { value?.array }

    private var value: JSONValue? { try? JSONValue(parsing: body, depthMax: 16) }
}

/// A document and how long its origin says it stays good.
package struct HTTPDocument: Sendable, Hashable {
    package var body: [UInt8]
    /// `max-age` of `Cache-Control` in seconds (RFC 9111 §5.2.2.1); 0 for `no-store` and `no-cache`; `nil` if unsaid.
    package var maxAgeSeconds: Int64?

    package init(body: [UInt8], maxAgeSeconds: Int64? = nil) {
        self.body = body
        self.maxAgeSeconds = maxAgeSeconds
    }

    /// Reads the values of `Cache-Control`.
    static func maxAgeSeconds(cacheControl values: [String]) -> Int64? {
        var seconds: Int64?
        for directive in values.joined(separator: ",").split(separator: ",") {
            let directive = directive.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
            if directive == "no-store" || directive == "no-cache" { return 0 }
            if directive.hasPrefix("max-age=") { seconds = Int64(directive.dropFirst("max-age=".count)) }
        }
        return seconds.map { max($0, 0) }
    }
}

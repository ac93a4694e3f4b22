package import JSON

/// Sends requests to providers. Tests replace it.
package protocol HTTPFetching: Sendable {
    /// Fetches the document at `address`.
    ///
    /// - Parameters:
    ///   - address: a URL.
    ///   - deadline: the time at which the request has timed out.
    /// - Returns: the complete document.
    /// - Throws: `ProviderUnavailable`, also for a forbidden address.
    func document(
        at address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable)
        -> HTTPDocument

    /// Sends `request` and reads the answer. Follows no redirect.
    ///
    /// Does not retry: a failed attempt may have used up an authorization code.
    /// - Returns: the complete answer, with any status.
    /// - Throws: `ProviderUnavailable` if there is no answer, also for a forbidden address.
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

    /// Returns the request with an additional header field.
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

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// The answer as a JSON object; `nil` for anything else. Ignores the media type, because not every provider sends
    /// it.
    package var json: JSONValue? {
        guard let value, value.object != nil else { return nil }
        return value
    }

    /// The answer as a JSON array; `nil` for anything else.
    package var jsonArray: [JSONValue]? { value?.array }

    private var value: JSONValue? { try? JSONValue(parsing: body, depthMax: 16) }
}

/// A document and its maximum age.
package struct HTTPDocument: Sendable, Hashable {
    package var body: [UInt8]
    /// `max-age` of `Cache-Control` in seconds (RFC 9111 §5.2.2.1); 0 for `no-store` and `no-cache`; `nil` if absent.
    package var maxAgeSeconds: Int64?

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

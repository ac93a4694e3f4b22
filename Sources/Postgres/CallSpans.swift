import Spans
import Tracing

/// The spans of calls, named as in metrics. A span covers the wait of its caller: a statement that several callers
/// share has a span in the trace of each. Spans hold no text of a statement and no value.
extension Spans {
    /// A write batch or a transaction.
    func call(_ name: StaticString, statementCount: Int? = nil) -> (any Tracing.Span)? {
        guard let span = child(name.description, .client) else { return nil }
        var attributes: SpanAttributes = [:]
        attributes["db.system.name"] = "postgresql"
        attributes["db.query.summary"] = name.description
        if let statementCount, statementCount > 1 { attributes["db.operation.batch.size"] = statementCount }
        span.attributes = attributes
        return span
    }

    /// The statements of a job of the read lane.
    func reads(_ job: Job) -> [any Tracing.Span] {
        job.statements.compactMap { statement in
            let table = statement.sql.table?.description
            let name = table.map { "read-\($0)" } ?? PostgresMetrics.otherCall
            guard let span = child(name, .client) else { return nil }
            var attributes: SpanAttributes = [:]
            attributes["db.system.name"] = "postgresql"
            attributes["db.operation.name"] = "SELECT"
            attributes["db.query.summary"] = name
            if let table { attributes["db.collection.name"] = table }
            span.attributes = attributes
            return span
        }
    }
}

extension Tracing.Span {
    /// Marks the span as failed, by the SQLSTATE if the server answered.
    func fail(_ error: PostgresError) {
        if let state = error.sqlState?.rawValue { attributes["db.response.status_code"] = state }
        fail(error.sqlState?.rawValue ?? "\(error.code)")
    }
}

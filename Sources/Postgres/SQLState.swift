/// The five characters by which PostgreSQL classifies an error (PostgreSQL 15, appendix A).
package struct SQLState: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let rawValue: String

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    package init(stringLiteral value: String) {
        self.rawValue = value
    }

    /// The first two characters: a closed set, usable as a metric label.
    package var errorClass: String { String(rawValue.prefix(2)) }

    /// `true` if the server uses the code to refuse any write.
    var refusesWrites: Bool { self == .readOnlyTransaction || self == .diskFull }

    package var description: String { rawValue }

    package static let featureNotSupported: Self = "0A000"
    package static let divisionByZero: Self = "22012"
    package static let notNullViolation: Self = "23502"
    package static let foreignKeyViolation: Self = "23503"
    package static let uniqueViolation: Self = "23505"
    package static let checkViolation: Self = "23514"
    package static let readOnlyTransaction: Self = "25006"
    package static let undefinedPreparedStatement: Self = "26000"
    package static let invalidAuthorization: Self = "28000"
    package static let invalidPassword: Self = "28P01"
    package static let unknownDatabase: Self = "3D000"
    package static let serializationFailure: Self = "40001"
    package static let deadlockDetected: Self = "40P01"
    package static let duplicatePreparedStatement: Self = "42P05"
    package static let insufficientPrivilege: Self = "42501"
    package static let duplicateObject: Self = "42710"
    package static let duplicateDatabase: Self = "42P04"
    package static let duplicateTable: Self = "42P07"
    package static let undefinedColumn: Self = "42703"
    package static let undefinedObject: Self = "42704"
    package static let undefinedTable: Self = "42P01"
    package static let diskFull: Self = "53100"
    package static let tooManyConnections: Self = "53300"
    package static let programLimitExceeded: Self = "54000"
    package static let lockNotAvailable: Self = "55P03"
    package static let queryCanceled: Self = "57014"
    package static let cannotConnectNow: Self = "57P03"
    package static let internalError: Self = "XX000"
}

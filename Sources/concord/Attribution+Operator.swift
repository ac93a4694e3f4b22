import AccountStore
import Glibc

extension Attribution {
    /// The operating-system user of this process and its host: `cli:USER@HOST`.
    ///
    /// A record, not a proof: anyone who can write to the database can write another name there.
    static func `operator`(reason: String? = nil) -> Attribution {
        let author = "cli:\(userName() ?? "uid-\(geteuid())")@\(hostName() ?? "unknown")"
        let shown = author.unicodeScalars.map { scalar -> Character in
            scalar.properties.generalCategory == .control ? "?" : Character(scalar)
        }
        return Attribution(author: String(shown.prefix(lengthMax)), reason: reason)
    }

    private static func userName() -> String? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var text = [CChar](repeating: 0, count: 1 << 14)
        // The name is in `text`, which has to outlive the record.
        return text.withUnsafeMutableBufferPointer { text -> String? in
            guard let base = text.baseAddress, getpwuid_r(geteuid(), &record, base, text.count, &found) == 0,
                found != nil, let name = record.pw_name
            else { return nil }
            return String(cString: name)
        }
    }

    private static func hostName() -> String? {
        // One byte more than the system's longest name, which need not end with a zero.
        var bytes = [CChar](repeating: 0, count: 257)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return nil }
        let name = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }
}

import Glibc

/// The file to which libcurl and OpenSSL append the keys of TLS connections. Its readers can decrypt recorded traffic.
enum TLSKeyLog {
    private static let variable = "SSLKEYLOGFILE"

    /// Removes the variable that names the file. Call it before other threads start, because they may read the
    /// environment.
    /// - Returns: the warning to log if the variable was set; `nil` otherwise.
    static func switchOff() -> String? {
        let isSet = getenv(variable) != nil
        unsetenv(variable)
        return isSet ? "\(variable) is ignored: it would write the keys of TLS connections to a file" : nil
    }
}

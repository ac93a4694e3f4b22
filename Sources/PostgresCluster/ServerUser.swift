import Glibc

/// The operating system user that owns the cluster and runs its programs.
struct ServerUser: Equatable {
    /// The numeric user id.
    var userID: uid_t
    /// The numeric primary group id.
    var groupID: gid_t
    /// The words before a command line that run it as this user; empty if the caller is that user.
    var commandPrefix: [String]

    /// Returns the caller, or `postgres` if the caller is root, because PostgreSQL refuses root.
    /// - Throws: `serverUserMissing` or `cannotSwitchUser`.
    static func forThisProcess() throws(PostgresClusterError) -> ServerUser {
        guard geteuid() == 0 else {
            return ServerUser(userID: geteuid(), groupID: getegid(), commandPrefix: [])
        }
        guard let (userID, groupID) = lookUp("postgres"), userID != 0 else { throw .serverUserMissing }
        if let setpriv = firstExecutable(of: ["/usr/bin/setpriv", "/bin/setpriv"]) {
            let prefix = [setpriv, "--reuid=\(userID)", "--regid=\(groupID)", "--init-groups", "--"]
            return ServerUser(userID: userID, groupID: groupID, commandPrefix: prefix)
        }
        if let runuser = firstExecutable(of: ["/usr/sbin/runuser", "/sbin/runuser"]) {
            return ServerUser(userID: userID, groupID: groupID, commandPrefix: [runuser, "-u", "postgres", "--"])
        }
        throw .cannotSwitchUser
    }

    /// Returns the ids of the user `name`; nil if it does not exist.
    private static func lookUp(_ name: String) -> (uid_t, gid_t)? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var text = [CChar](repeating: 0, count: 1 << 14)
        guard getpwnam_r(name, &record, &text, text.count, &found) == 0, found != nil else { return nil }
        return (record.pw_uid, record.pw_gid)
    }

    private static func firstExecutable(of paths: [String]) -> String? {
        paths.first { access($0, X_OK) == 0 }
    }
}

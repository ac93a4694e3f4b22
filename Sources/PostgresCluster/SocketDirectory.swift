import Glibc

/// Creates the private directory of the cluster's Unix socket, or uses that of an earlier run.
///
/// The name is derived from the data directory, so that a running server can be adopted. An attacker can guess it, so
/// an existing directory is used only if it belongs to the server's user and no other user can enter it.
/// - Throws: `ownedByAnotherUser`, `socketPathTooLong` or `systemCall`.
func prepareSocketDirectory(
    root: String,
    dataDirectory: String,
    owner: ServerUser
) throws(PostgresClusterError) -> String {
    let path = "\(root)/concord-\(stableName(for: "\(owner.userID) \(dataDirectory)"))"
    // 107 is the size of sockaddr_un.sun_path without the final NUL (Linux, unix(7)).
    let socket = "\(path)/.s.PGSQL.\(ClusterConnection.port)"
    guard socket.utf8.count <= 107 else { throw .socketPathTooLong(socket) }
    if mkdir(path, 0o700) != 0 {
        guard errno == EEXIST else { throw systemCallFailure("create", path) }
        guard let facts = FileFacts(path), facts.isDirectory else {
            throw .systemCall(operation: "use", path: path, reason: "it is not a directory")
        }
        // The caller may be the owner too: root may have died between creating the directory and changing its owner.
        guard facts.owner == owner.userID || facts.owner == geteuid() else {
            throw .ownedByAnotherUser(directory: path, userID: facts.owner)
        }
    }
    try makePrivate(path, owner: owner)
    return path
}

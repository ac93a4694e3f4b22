import Glibc

/// Makes the private directory that holds the cluster's Unix socket, or takes the one of an earlier run.
///
/// The name follows from the data directory, so that an adopted server is found again. Because such a name can be
/// guessed in a shared directory, what is already there is used only when it is a directory of the server's user
/// that no other user can enter.
/// - Throws: `ownedByAnotherUser`, `socketPathTooLong` or `systemCall`.
func prepareSocketDirectory(
    root: String,
    dataDirectory: String,
    owner: ServerUser
) throws(PostgresClusterError) -> String {
    let path = "\(root)/concord-\(stableName(for: "\(owner.userID) \(dataDirectory)"))"
    // 107 is the size of sockaddr_un.sun_path less its final NUL (Linux, unix(7)).
    let socket = "\(path)/.s.PGSQL.\(ClusterConnection.port)"
    guard socket.utf8.count <= 107 else { throw .socketPathTooLong(socket) }
    if mkdir(path, 0o700) != 0 {
        guard errno == EEXIST else { throw systemCallFailure("create", path) }
        guard let facts = FileFacts(path), facts.isDirectory else {
            throw .systemCall(operation: "use", path: path, reason: "it is not a directory")
        }
        // Ours is right too: root may have died between making the directory and giving it away.
        guard facts.owner == owner.userID || facts.owner == geteuid() else {
            throw .ownedByAnotherUser(directory: path, userID: facts.owner)
        }
    }
    try makePrivate(path, owner: owner)
    return path
}

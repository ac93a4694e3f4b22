import Foundation

// The conflicts in the session store: added before an error is thrown, changed before a step returns, and removed when
// they end. A process that is killed at any point thus finds the newest state.

extension Auth {
    /// Returns the conflicts of this server and project that have not ended, the newest first.
    ///
    /// An app calls it at launch, and offers to continue. Expired conflicts are removed from the store.
    public func pendingConflicts() throws(AuthError) -> [AuthConflict] {
        let now = configuration.now()
        let stored = try keeper.read().conflicts
        if stored.contains(where: { $0.isExpired(at: now) }) {
            // A store that cannot be written still has readable conflicts.
            _ = try? keeper.change { state in state.conflicts.removeAll { $0.isExpired(at: now) } }
        }
        return stored.filter { isOwn($0) && !$0.isExpired(at: now) }.reversed()
    }

    /// Stores the newest state of a conflict.
    func replace(_ conflict: AuthConflict) throws(AuthError) {
        _ = try keeper.change { state in
            if let index = state.conflicts.firstIndex(where: { $0.id == conflict.id }) {
                state.conflicts[index] = conflict
            } else {
                state.conflicts.append(conflict)
                state.conflicts.removeFirst(max(0, state.conflicts.count - StoredState.mostPending))
            }
        }
    }

    /// Removes a conflict that has ended. One that a concurrent step has given another handle stays.
    func forget(_ conflict: AuthConflict) throws(AuthError) {
        _ = try keeper.change { state in state.conflicts.removeAll { $0.handle == conflict.handle } }
    }

    /// Returns the newest state of `conflict`: an earlier process may have proven it.
    func newest(_ conflict: AuthConflict) throws(AuthError) -> AuthConflict {
        guard isOwn(conflict) else {
            throw AuthError(
                .conflictUnknown,
                "The conflict belongs to \(conflict.server.host ?? "another server"), project \(conflict.projectID)."
            )
        }
        return try keeper.read().conflicts.first { $0.id == conflict.id } ?? conflict
    }

    private func isOwn(_ conflict: AuthConflict) -> Bool {
        conflict.projectID == configuration.projectID && conflict.server.place == configuration.server.place
    }
}

extension URL {
    /// The parts that name a server.
    fileprivate var place: [String] {
        [scheme?.lowercased() ?? "", host?.lowercased() ?? "", port.map(String.init) ?? "", path == "/" ? "" : path]
    }
}

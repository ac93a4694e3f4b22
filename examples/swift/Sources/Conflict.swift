import ConcordAuth

// begin: conflict
/// Signs in with GitHub. If an account has the address already, its owner decides, now or at a later launch.
func signIn(gitHubToken token: String, in auth: Auth, _ person: Person) async throws -> User? {
    do throws(AuthError) {
        return try await auth.signIn(with: GitHubAuthProvider.credential(withToken: token)).user
    } catch {
        guard let conflict = error.conflict else { throw error }
        return try await settle(conflict, in: auth, person)
    }
}

/// Settles a stored conflict. If the process is killed at any point, the next launch calls it again.
func settle(_ conflict: AuthConflict, in auth: Auth, _ person: Person) async throws -> User? {
    let email = conflict.email ?? ""
    let owner = auth.currentUser.flatMap { $0.email == email ? $0 : nil }
    var proof = conflict.proof
    while owner == nil, proof == nil {
        switch person.answer("To link GitHub to \(email), type password, mail or code; or decline") {
        case "password":
            let known = EmailAuthProvider.credential(withEmail: email, password: person.secret("Password"))
            return try await conflict.settle(with: known, in: auth).user
        case "mail": try await conflict.startProof(in: auth)
        case "code": proof = try await conflict.prove(code: person.answer("Code of the mail"), in: auth)
        case "decline": return try await decline(conflict, in: auth)
        default: continue
        }
    }
    for method in proof?.suspended ?? [] { person.show("This suspends \(method.method).") }
    guard person.agrees("Link GitHub to \(email)") else { return try await decline(conflict, in: auth) }
    if let owner { return try await conflict.link(to: owner).user }
    return try await conflict.resolve(in: auth).user
}
// end: conflict

/// Makes the credential unusable. The account stays as it is.
private func decline(_ conflict: AuthConflict, in auth: Auth) async throws -> User? {
    try await conflict.decline(in: auth)
    return auth.currentUser
}

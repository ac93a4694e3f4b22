import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import Glibc

extension KeysCommand {
    /// `concord keys rotate`
    struct Rotate: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make the next signing key now, or a new key-encryption key.",
            discussion: """
                signing: servers publish the new key within a minute. It signs a day later, when every verifier has \
                it. The old key stays published until its last token has expired.

                encryption: prints a new key and the steps to put it into use. Changes no configuration. Prints the \
                key on a terminal only; --output writes it to a new file that only you can read.

                Exits with 1 if the next signing key exists already and does not sign yet.

                EXAMPLES
                  concord keys rotate signing
                  concord keys rotate encryption --output new-key
                """
        )

        /// The kinds of keys that can be rotated.
        enum Kind: String, CaseIterable, ExpressibleByArgument {
            case signing
            case encryption
        }

        @OptionGroup var configuration: ConfigurationOptions

        @Argument(help: "Kind of key.")
        var kind: Kind

        @Option(help: "Tokens that the signing key signs.")
        var purpose: SigningKeyRecord.Purpose = .idToken

        @Option(help: ArgumentHelp("New file for the key-encryption key.", valueName: "file"))
        var output: String?

        func validate() throws {
            guard output == nil || kind == .encryption else {
                throw ValidationError("--output: only for encryption; a signing key stays in the database")
            }
        }

        func perform() async throws {
            let serving = try ServeConfiguration(try configuration.sources())
            switch kind {
            case .signing: try await rotateSigningKey(serving)
            case .encryption: try await rotateEncryptionKey(serving)
            }
        }

        private func rotateSigningKey(_ serving: ServeConfiguration) async throws {
            let rotation = try await withSealingStore(serving) { store, sealer in
                guard let project = try await store.project()?.project else { throw StartupFailure.noProject }
                return try await SigningKeys(
                    store: store,
                    sealer: sealer,
                    effects: .system,
                    algorithm: serving.tokens.signingAlgorithm.algorithm,
                    projectID: project.projectID
                ).rotate(purpose)
            }
            switch rotation {
            case .made(let key):
                try say("made signing key \(key.id) (\(key.algorithm)) of \(purpose.rawValue)")
                try say("servers publish it within a minute; it signs from \(RFC3339.text(key.signsFrom))")
            case .waiting(let key):
                complain(
                    "the next key \(key.id) exists, and signs from \(RFC3339.text(key.signsFrom)); nothing was changed"
                )
                throw ExitCode.answerIsNo
            case .noKey:
                complain("there is no signing key to rotate: the first server makes it; nothing was changed")
                throw ExitCode.answerIsNo
            }
        }

        private func rotateEncryptionKey(_ serving: ServeConfiguration) async throws {
            guard output != nil || isatty(STDOUT_FILENO) == 1 else {
                throw ValidationError(
                    "standard output is not a terminal, and the key is a secret: give --output with a new file"
                )
            }
            let sealer = try Sealer(serving.keys)
            let used = try await withClient(serving.database.postgres) { client in
                try await SealedValues(store: AccountStore(client: client), sealer: sealer).uses()
                    .compactMap { $0.keyID.flatMap { Int($0) } }
            }
            guard let key = NewEncryptionKey(after: serving.keys.all.map(\.id) + used) else {
                throw StartupFailure("every id from 1 to 65535 was used", .badConfiguration)
            }
            try say(key.steps(current: serving.keys.sealing.id, file: output))
            guard let output else {
                try say(key.line)
                return
            }
            try flushOutput()
            try key.write(to: output)
        }
    }
}

extension SigningKeyRecord.Purpose: ExpressibleByArgument {}

/// A random key-encryption key with an id that was never used.
struct NewEncryptionKey {
    let id: Int
    /// The line for `keys.encryption_file`.
    let line: String

    /// Returns `nil` if there is no id after the highest of `ids`.
    init?(after ids: [Int], effects: Effects = .system) {
        let id = (ids.max() ?? 0) + 1
        guard id <= 65_535 else { return nil }
        self.id = id
        line = "\(id):\(Data(effects.randomBytes(32)).base64EncodedString())"
    }

    func steps(current: Int, file: String?) -> String {
        """
        1. Add the \(file.map { "line of \($0)" } ?? "line below") behind the other keys, as the last of \
        keys.encryption or the last line of keys.encryption_file. Store a copy where your backups are not. Restart \
        every server.
        2. Move it to the front. Restart every server.
        3. Run: concord keys reseal
        4. Once concord keys list shows key \(current) as unused, remove it and restart every server. Store it as \
        long as a backup from before step 3.
        """
    }

    /// - Throws: `StartupFailure` if the file exists or cannot be written; `OutputFailure`.
    func write(to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw StartupFailure("cannot create \(path): \(reason); give the path of a new file", .cannotWrite)
        }
        defer { close(descriptor) }
        try writeAll(Array((line + "\n").utf8)[...], to: descriptor, named: path)
        guard fsync(descriptor) == 0 else { throw OutputFailure(path) }
    }
}

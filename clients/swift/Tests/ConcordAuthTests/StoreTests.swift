import Foundation
import Testing

@testable import ConcordAuth

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

@Suite struct StoreTests {
    private func permissions(_ url: URL) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int)
    }

    @Test func theFileIsForItsOwnerAlone() throws {
        let directory = TemporaryDirectory()
        let store = FileSessionStore(file: directory.file)
        #expect(try store.read() == nil)
        #expect(try store.replace(nil, with: StoredState()))
        #expect(try permissions(directory.file) == 0o600)
        #expect(try permissions(directory.file.deletingLastPathComponent()) == 0o700)
    }

    @Test(arguments: [true, false])
    func aVersionThatAnotherProcessWroteIsNotReplaced(_ inFile: Bool) throws {
        let directory = TemporaryDirectory()
        let memory = InMemorySessionStore()
        func store() -> any SessionStore { inFile ? FileSessionStore(file: directory.file) : memory }
        var state = StoredState()
        #expect(try store().replace(nil, with: state))
        let read = state.version
        #expect(try store().replace(nil, with: state) == false)
        state.version += 1
        state.deviceToken = Secret("theirs")
        #expect(try store().replace(read, with: state))
        var mine = state
        mine.deviceToken = Secret("mine")
        #expect(try store().replace(read, with: mine) == false)
        #expect(try store().read()?.deviceToken?.text == "theirs")
    }

    @Test func aChangeStartsOverIfAnotherProcessWroteBetweenReadAndWrite() throws {
        /// A store in which another process writes right after the first read.
        final class Contested: SessionStore {
            let inner = InMemorySessionStore()
            let reads = Locked(0)

            func read() throws -> StoredState? {
                let state = try inner.read()
                let isFirst = reads.with { reads in
                    reads += 1
                    return reads == 1
                }
                if isFirst {
                    var theirs = StoredState()
                    theirs.scope = "s"
                    theirs.deviceToken = Secret("theirs")
                    _ = try inner.replace(nil, with: theirs)
                }
                return state
            }

            func replace(_ expected: StoredState.Version?, with state: StoredState) throws -> Bool {
                try inner.replace(expected, with: state)
            }

            func discard() throws { try inner.discard() }
        }
        let store = Contested()
        let keeper = StateKeeper(store, scope: "s")
        let link = PendingEmailLink(scope: "s", email: "ada@example.com", continueURL: nil, requestTime: Date())
        let (state, _) = try keeper.change { $0.emailLinks.append(link) }
        #expect(state.deviceToken?.text == "theirs")
        #expect(try store.inner.read()?.deviceToken?.text == "theirs")
        #expect(try store.inner.read()?.emailLinks.count == 1)
    }

    @Test func aChangeThatChangesNothingWritesNothing() throws {
        let store = InMemorySessionStore()
        _ = try StateKeeper(store, scope: "s").change { $0.session = nil }
        #expect(try store.read() == nil)
    }

    @Test func aStoreOfAFutureFormatIsNotOverwritten() async throws {
        let directory = TemporaryDirectory()
        let rig = Rig(store: FileSessionStore(file: directory.file))
        rig.playServer()
        _ = try rig.store.replace(nil, with: StoredState())
        let future = Data(#"{"format": 2, "version": "a-text-now"}"#.utf8)
        try future.write(to: directory.file)
        let auth = try rig.auth()
        #expect(auth.currentUser == nil)
        #expect(await failure { _ = try auth.storedUser() }?.code == .storeFutureFormat)
        #expect(await failure { try auth.signOut() }?.code == .storeFutureFormat)
        let error = await failure { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        #expect(error?.code == .storeFutureFormat)
        #expect(rig.transport.requests.isEmpty, "nothing is sent if the result cannot be stored")
        #expect(try Data(contentsOf: directory.file) == future)
    }

    @Test(arguments: ["", "x", "{", "[]", #"{"format": 1}"#, #"{"format": 1, "version": 3, "session": 7}"#])
    func aDamagedStoreIsDeletedByDiscardAlone(_ text: String) async throws {
        let directory = TemporaryDirectory()
        let rig = Rig(store: FileSessionStore(file: directory.file))
        rig.playServer()
        _ = try rig.store.replace(nil, with: StoredState())
        try Data(text.utf8).write(to: directory.file)
        let auth = try rig.auth()
        let error = await failure { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        #expect(error?.code == .storeUnreadable)
        #expect(try Data(contentsOf: directory.file) == Data(text.utf8))
        try auth.discardStoredState()
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.file.deletingLastPathComponent().path)
        #expect(files == ["session.json.lock"], "no copy has the tokens")
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        #expect(auth.currentUser?.uid == "ada")
    }

    @Test func aStoreThatCannotBeWrittenIsAnError() throws {
        let store = FileSessionStore(file: URL(fileURLWithPath: "/proc/no-such-directory/session.json"))
        #expect(throws: SessionStoreError.self) { try store.replace(nil, with: StoredState()) }
    }

    @Test func aWriterDoesNotWaitForAnotherProcessWithoutEnd() throws {
        let directory = TemporaryDirectory()
        let store = FileSessionStore(file: directory.file, lockSeconds: 0.1)
        #expect(try store.replace(nil, with: StoredState()))
        let lock = open(directory.file.path + ".lock", O_RDWR)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX) == 0)
        let version = try store.read()?.version
        #expect(throws: SessionStoreError.self) { try store.replace(version, with: StoredState()) }
        let keeper = StateKeeper(store, scope: "s")
        do {
            _ = try keeper.change { $0.deviceToken = Secret("new") }
            Issue.record("the change was stored without the lock")
        } catch { #expect(error.code == .storeNotWritable) }
        #expect(flock(lock, LOCK_UN) == 0)
        _ = try keeper.change { $0.deviceToken = Secret("new") }
        #expect(try keeper.read().deviceToken?.text == "new")
    }

    @Test func aChangeDoesNotWaitForOthersOfItsProcessWithoutEnd() async throws {
        let keeper = StateKeeper(InMemorySessionStore(), scope: "s", patience: 0.1)
        let isInside = DispatchSemaphore(value: 0)
        let end = DispatchSemaphore(value: 0)
        let thread = Thread {
            _ = try? keeper.change { _ in
                isInside.signal()
                end.wait()
            }
        }
        thread.start()
        let error = await Task.detached { () -> AuthError? in
            await failure {
                wait(for: isInside)
                _ = try keeper.change { $0.deviceToken = Secret("new") }
            }
        }
        .value
        end.signal()
        #expect(error?.code == .storeNotWritable)
    }

    @Test func aStateOfAnOlderVersionOfThePackageIsRead() throws {
        let state = try StoredState(encoded: Data(#"{"format": 1, "version": 3, "ofTomorrow": [1]}"#.utf8))
        #expect(state.version == 3)
        #expect(state.conflicts.isEmpty && state.others.isEmpty && state.session == nil && state.signOuts == 0)
    }

    @Test func manyWritersLoseNoChange() async throws {
        let directory = TemporaryDirectory()
        let keepers = (0..<4).map { _ in StateKeeper(FileSessionStore(file: directory.file), scope: "s") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    _ = try keepers[number % 4].change { state in
                        state.deviceToken = Secret(String((Int(state.deviceToken?.text ?? "0") ?? 0) + 1))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try keepers[0].read().deviceToken?.text == "200")
    }

    @Test func descriptionsShowNoSecret() throws {
        var state = StoredState()
        state.deviceToken = Secret("s3cret")
        let credential = GitHubAuthProvider.credential(withToken: "s3cret")
        let texts = [
            "\(state)", String(reflecting: state), "\(credential)", String(reflecting: credential),
            "\(EmailAuthProvider.credential(withEmail: "ada@example.com", password: "s3cret"))",
        ]
        for text in texts { #expect(!text.contains("s3cret")) }
        var dumped = ""
        dump(state, to: &dumped)
        dump(credential, to: &dumped)
        #expect(!dumped.contains("s3cret"))
    }
}

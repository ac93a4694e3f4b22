import Glibc
import Testing

@testable import PostgresCluster

/// Every test starts a PostgreSQL server. The tests run one after the other, because a start takes a second of two
/// cores.
@Suite(.serialized)
struct PostgresClusterTests {
    @Test func `a cluster is created, answers, stops and keeps its data`() async throws {
        try await withTemporaryDirectory { root in
            let cluster = PostgresCluster(dataDirectory: "\(root)/a/b/data", settings: .lasting(in: root))
            let first = try await cluster.start()
            #expect(first.origin == .created)
            #expect(first.notice == nil)
            #expect(first.dataDirectory == "\(root)/a/b/data")
            #expect(FileFacts(first.dataDirectory)?.permissions == 0o700)
            #expect(try await cluster.start() == first)
            #expect(try await cluster.createDatabase("shop & co"))
            #expect(try await !cluster.createDatabase("shop & co"))
            _ = try await first.query("CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)", database: "shop & co")
            #expect(try await first.query("SHOW server_encoding") == "UTF8")
            #expect(try await first.query("SHOW listen_addresses") == "")
            #expect(try await first.query("SHOW timezone") == "UTC")

            try await cluster.stop()
            try await cluster.stop()
            #expect(!first.isAlive)
            #expect(FileFacts(first.socketDirectory) == nil)
            await #expect(throws: PostgresClusterError.notRunning) { try await cluster.createDatabase("x") }

            let second = try await cluster.start()
            #expect(second.origin == .started)
            #expect(try await second.query("SELECT n FROM kept", database: "shop & co") == "42")
            try await cluster.discard()
            #expect(FileFacts(first.dataDirectory) == nil)
        }
    }

    @Test func `a server that outlived its owner is adopted`() async throws {
        try await withTemporaryDirectory { root in
            let dead = try await PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root)).start()
            #expect(dead.isAlive)

            let heir = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let adopted = try await heir.start()
            #expect(adopted.origin == .adopted)
            #expect(adopted.processID == dead.processID)
            #expect(try await adopted.query("SELECT 1") == "1")
            try await heir.stop()
            #expect(!dead.isAlive)
        }
    }

    @Test func `a server that outlived its owner is restarted if the settings differ`() async throws {
        try await withTemporaryDirectory { root in
            let dead = try await PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root)).start()
            var settings = ClusterSettings.lasting(in: root)
            settings.connectionsMax = 17
            let heir = PostgresCluster(dataDirectory: "\(root)/data", settings: settings)
            let fresh = try await heir.start()
            #expect(fresh.origin == .started)
            #expect(fresh.processID != dead.processID)
            #expect(try await fresh.query("SHOW max_connections") == "17")
            try await heir.stop()
        }
    }

    @Test func `a server that outlived its owner is replaced if it does not answer`() async throws {
        try await withTemporaryDirectory { root in
            let dead = try await PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root)).start()
            #expect(kill(pid_t(dead.processID), SIGSTOP) == 0)
            let heir = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let fresh = try await heir.start()
            #expect(fresh.origin == .started)
            #expect(fresh.processID != dead.processID)
            #expect(try await fresh.query("SELECT 1") == "1")
            try await heir.stop()
        }
    }

    @Test func `a disposable server stops with its owner`() async throws {
        try await withTemporaryDirectory { root in
            let dead = try await PostgresCluster(dataDirectory: "\(root)/data", settings: .disposable(in: root)).start()
            #expect(await waitUntil(.seconds(20)) { !dead.isAlive && FileFacts(dead.socketDirectory) == nil })

            let heir = PostgresCluster(dataDirectory: "\(root)/data", settings: .disposable(in: root))
            let fresh = try await heir.start()
            #expect(fresh.origin == .started)
            // The guard process of the first server must not stop the second.
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await fresh.query("SELECT 1") == "1")
            try await heir.discard()
        }
    }

    @Test func `a directory in use is refused to a second owner`() async throws {
        try await withTemporaryDirectory { root in
            let first = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let connection = try await first.start()
            let second = PostgresCluster(dataDirectory: "\(root)/./data", settings: .lasting(in: root))
            await #expect(
                throws: PostgresClusterError.inUse(directory: "\(root)/data", processID: Int(getpid()))
            ) { try await second.start() }
            #expect(try await connection.query("SELECT 1") == "1")
            try await first.stop()
            _ = try await second.start()
            try await second.stop()
        }
    }

    @Test func `a server does not inherit the lock of its owner`() async throws {
        try await withTemporaryDirectory { root in
            let connection = try await PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
                .start()
            // Releasing the owner closed the lock. The server still runs, and must not have inherited it.
            let result = try await runChild(
                "flock",
                ["--nonblock", "\(connection.dataDirectory)/concord.lock", "true"]
            )
            #expect(result.succeeded)
        }
    }

    @Test func `an interrupted initdb is repeated`() async throws {
        try await withTemporaryDirectory { root in
            let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let owner = try ServerUser.forThisProcess()
            let directory = try await DataDirectory.prepare("\(root)/data", owner: owner)
            try replaceFile(directory.lock, with: "", owner: owner)
            try await runChildSuccessfully("/bin/mkdir", ["-p", "\(directory.unfinishedCluster)/base"], as: owner)
            try replaceFile("\(directory.unfinishedCluster)/PG_VERSION", with: "15\n", owner: owner)

            #expect(try await cluster.start().origin == .created)
            #expect(FileFacts(directory.unfinishedCluster) == nil)
            try await cluster.stop()
        }
    }

    @Test func `a cluster without its basic files is refused`() async throws {
        try await withTemporaryDirectory { root in
            let owner = try ServerUser.forThisProcess()
            let directory = try await DataDirectory.prepare("\(root)/data", owner: owner)
            try replaceFile(directory.lock, with: "", owner: owner)
            try await runChildSuccessfully("/bin/mkdir", [directory.cluster], as: owner)
            await #expect(throws: PostgresClusterError.incompleteCluster(directory.cluster)) {
                try await PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root)).start()
            }
        }
    }

    @Test func `a cluster of another version is refused with both versions`() async throws {
        try await withTemporaryDirectory { root in
            let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let connection = try await cluster.start()
            try await cluster.stop()
            let directory = DataDirectory(path: connection.dataDirectory)
            try replaceFile("\(directory.cluster)/PG_VERSION", with: "12\n", owner: .forThisProcess())
            await #expect {
                try await cluster.start()
            } throws: { error in
                guard case PostgresClusterError.versionMismatch(_, 12, let installed) = error else { return false }
                return installed.contains(connection.majorVersion)
            }
        }
    }

    @Test func `a directory with files of other programs is refused unchanged`() async throws {
        try await withTemporaryDirectory { root in
            #expect(mkdir("\(root)/data", 0o755) == 0)
            try replaceFile("\(root)/data/thesis.txt", with: "precious", owner: .forThisProcess())
            await #expect(throws: PostgresClusterError.notADataDirectory("\(root)/data")) {
                try await PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root)).start()
            }
            #expect(try directoryEntries("\(root)/data") == ["thesis.txt"])
            #expect(FileFacts("\(root)/data")?.owner == geteuid())
        }
    }

    @Test func `the server starts although a stale pid file names a process of another program`() async throws {
        try await withTemporaryDirectory { root in
            let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let directory = DataDirectory(path: try await cluster.start().dataDirectory)
            let description = try #require(readFile(directory.pidFile))
            try await cluster.stop()

            // The worst case is a process of the server's user: PostgreSQL takes it for a running server.
            let owner = try ServerUser.forThisProcess()
            let stranger = try await runChildSuccessfully(
                "/bin/sh",
                ["-c", "sleep 60 >/dev/null 2>&1 & echo $!"],
                as: owner
            )
            defer { if let id = pid_t(stranger) { kill(id, SIGKILL) } }
            let rest = description.drop { $0 != "\n" }
            try replaceFile(directory.pidFile, with: "\(stranger)\(rest)", owner: owner)
            #expect(try await cluster.start().origin == .started)
            try await cluster.stop()

            try replaceFile(directory.pidFile, with: "", owner: owner)
            let connection = try await cluster.start()
            #expect(try await connection.query("SELECT 1") == "1")
            try await cluster.stop()
        }
    }

    @Test func `committed rows survive the server's kill -9`() async throws {
        try await withTemporaryDirectory { root in
            let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .durable(in: root))
            let connection = try await cluster.start()
            _ = try await connection.query("CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)")
            #expect(kill(pid_t(connection.processID), SIGKILL) == 0)
            try await cluster.stop()
            let again = try await cluster.start()
            #expect(again.origin == .started)
            #expect(try await again.query("SELECT n FROM kept") == "42")
            try await cluster.stop(.immediate)
            let recovered = try await cluster.start()
            #expect(try await recovered.query("SELECT n FROM kept") == "42")
            try await cluster.stop()
        }
    }

    @Test func `a failed start reports the end of the server's log, and leaves no server running`() async throws {
        try await withTemporaryDirectory { root in
            var settings = ClusterSettings.lasting(in: root)
            settings.additional = ["shared_preload_libraries": "no_such_library"]
            let broken = PostgresCluster(dataDirectory: "\(root)/data", settings: settings)
            await #expect {
                try await broken.start()
            } throws: { error in
                guard case PostgresClusterError.startFailed(_, let log) = error else { return false }
                return log.contains("no_such_library")
            }
            #expect(DataDirectory(path: "\(root)/data").livePostmaster() == nil)
            let mended = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            #expect(try await mended.start().origin == .started)
            try await mended.stop()
        }
    }

    @Test func `a missing PostgreSQL is an error with the searched directories`() async throws {
        try await withTemporaryDirectory { root in
            var settings = ClusterSettings.lasting(in: root)
            settings.binaryDirectory = "\(root)/bin"
            await #expect(throws: PostgresClusterError.serverNotInstalled(searched: ["\(root)/bin"])) {
                try await PostgresCluster(dataDirectory: "\(root)/data", settings: settings).start()
            }
        }
    }

    @Test func `a cancelled start leaves no server and no lock`() async throws {
        try await withTemporaryDirectory { root in
            // From the first steps of initdb until the server is almost ready.
            for milliseconds in [1, 300, 800, 1000, 1200] {
                let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
                let start = Task { try await cluster.start() }
                try await Task.sleep(for: .milliseconds(milliseconds))
                start.cancel()
                if case .success = await start.result { try await cluster.stop() }
                #expect(DataDirectory(path: "\(root)/data").livePostmaster() == nil)
            }
            let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let connection = try await cluster.start()
            #expect(connection.origin != .adopted)
            // A cancelled task still stops the server.
            let stop = Task { try await cluster.stop() }
            stop.cancel()
            try await stop.value
            #expect(!connection.isAlive)
        }
    }

    @Test func `the log contains no row values and no statements`() async throws {
        try await withTemporaryDirectory { root in
            let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let connection = try await cluster.start()
            _ = try await connection.query("CREATE TABLE people (email text PRIMARY KEY)")
            _ = try await connection.query("INSERT INTO people VALUES ('ada@example.com')")
            await #expect(throws: PostgresClusterError.self) {
                try await connection.query("INSERT INTO people VALUES ('ada@example.com')")
            }
            try await cluster.stop()
            let log = try #require(readFile(connection.logFile))
            #expect(log.contains("database system is ready"))
            #expect(!log.contains("ada@example.com"))
            #expect(!log.contains("INSERT"))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root runs the server as another user"))
    func `if the server's user cannot enter the directory, a notice names the other directory of the data`()
        async throws
    {
        try await withTemporaryDirectory { root in
            let home = "\(root)/home"
            #expect(mkdir(home, 0o700) == 0)
            let owner = try ServerUser.forThisProcess()
            let fallback = "\(root)/fallback"
            let requested = "\(home)/project/.concord"
            let directory = try await DataDirectory.prepare(requested, owner: owner, fallbackRoot: fallback)
            #expect(directory.path.hasPrefix("\(fallback)/.concord-"))
            #expect(directory.notice?.contains(directory.path) == true)
            #expect(directory.notice?.contains(requested) == true)
            #expect(try directoryEntries(home).isEmpty)
            // The next start uses the same directory, another request another one.
            try replaceFile(directory.lock, with: "", owner: owner)
            let again = try await DataDirectory.prepare(requested, owner: owner, fallbackRoot: fallback)
            #expect(again.path == directory.path)
            let other = try await DataDirectory.prepare("\(home)/x/.concord", owner: owner, fallbackRoot: fallback)
            #expect(other.path != directory.path)
        }
    }
}

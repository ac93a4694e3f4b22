import Glibc
import Testing

@testable import PostgresCluster

/// A real server in every test. One after the other: each start costs a second of both cores.
@Suite(.serialized)
struct PostgresClusterTests {
    @Test func `a cluster is made, answers, stops and keeps its data`() async throws {
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

    @Test func `a server that outlived its owner with other settings is started anew`() async throws {
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

    @Test func `a server that outlived its owner and does not answer is replaced`() async throws {
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

    @Test func `a disposable server ends with its owner`() async throws {
        try await withTemporaryDirectory { root in
            let dead = try await PostgresCluster(dataDirectory: "\(root)/data", settings: .disposable(in: root)).start()
            #expect(await waitUntil(.seconds(20)) { !dead.isAlive && FileFacts(dead.socketDirectory) == nil })

            let heir = PostgresCluster(dataDirectory: "\(root)/data", settings: .disposable(in: root))
            let fresh = try await heir.start()
            #expect(fresh.origin == .started)
            // The guard of the first server is not about to end the second.
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await fresh.query("SELECT 1") == "1")
            try await heir.discard()
        }
    }

    @Test func `two owners never share a directory`() async throws {
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

    @Test func `the server does not hold the lock of an owner that is gone`() async throws {
        try await withTemporaryDirectory { root in
            let connection = try await PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
                .start()
            // Closed with the dropped object; the server, which still runs, must not have inherited it.
            let result = try await runChild(
                "flock",
                ["--nonblock", "\(connection.dataDirectory)/concord.lock", "true"]
            )
            #expect(result.succeeded)
        }
    }

    @Test func `an interrupted initdb is done again`() async throws {
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

    @Test func `a cluster of another version is refused by name`() async throws {
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

    @Test func `files of other programs are left alone`() async throws {
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

    @Test func `a stale pid file naming a living stranger does not keep the server from starting`() async throws {
        try await withTemporaryDirectory { root in
            let cluster = PostgresCluster(dataDirectory: "\(root)/data", settings: .lasting(in: root))
            let directory = DataDirectory(path: try await cluster.start().dataDirectory)
            let description = try #require(readFile(directory.pidFile))
            try await cluster.stop()

            // A process of the server's own user, the worst case: PostgreSQL believes its id.
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

    @Test func `a failure to start carries the end of the server's log and leaves nothing behind`() async throws {
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

    @Test func `a missing server is named with what to install`() async throws {
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
            // From the first steps of initdb to the moment when the server is about to be ready.
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
            // Started and stopped by a task that has been cancelled.
            let stop = Task { try await cluster.stop() }
            stop.cancel()
            try await stop.value
            #expect(!connection.isAlive)
        }
    }

    @Test func `the log keeps no row values and no statements`() async throws {
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
    func `where the server's user cannot enter, the data goes elsewhere and the notice says so`() async throws {
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
            // The same place at the next start, another for another request.
            try replaceFile(directory.lock, with: "", owner: owner)
            let again = try await DataDirectory.prepare(requested, owner: owner, fallbackRoot: fallback)
            #expect(again.path == directory.path)
            let other = try await DataDirectory.prepare("\(home)/x/.concord", owner: owner, fallbackRoot: fallback)
            #expect(other.path != directory.path)
        }
    }
}

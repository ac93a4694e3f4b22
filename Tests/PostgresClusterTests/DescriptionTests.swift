import Glibc
import Testing

@testable import PostgresCluster

/// Names, texts and files, without a server.
struct DescriptionTests {
    @Test(
        arguments: [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", 15),
            ("postgres (PostgreSQL) 18beta1", 18),
            ("postgres (PostgreSQL) 9.6.24", 9),
            ("something else 15", nil),
        ] as [(String, Int?)]
    )
    func `the major version is read from the server's output`(line: String, major: Int?) {
        #expect(ServerBinaries.parseMajor(line) == major)
    }

    @Test func `a pid file contains process, socket and status`() throws {
        let text = "4711\n/data/cluster\n1700000000\n5432\n/tmp/concord-1\n\n  5432001   131085\nready   \n"
        let server = try #require(Postmaster(pidFile: text))
        #expect(server.processID == 4711)
        #expect(server.socketDirectory == "/tmp/concord-1")
        #expect(server.status == .ready)
        #expect(Postmaster(pidFile: text.replacing("ready   ", with: "stopping"))?.status == .stopping)
        #expect(Postmaster(pidFile: "4711\n/data/cluster\n")?.status == .starting)
        #expect(Postmaster(pidFile: "-4711\n")?.processID == 4711)
        for broken in ["", "\n", "0\n", "x\n"] {
            #expect(Postmaster(pidFile: broken) == nil)
        }
    }

    @Test func `a process id of another program is not the server`() throws {
        let server = try #require(Postmaster(pidFile: "\(getpid())\n/data/cluster\n"))
        #expect(!server.isAlive(in: "/data/cluster"))
        let nobody = try #require(Postmaster(pidFile: "\((1 << 22) + 1)\n/data/cluster\n"))
        #expect(!nobody.isAlive(in: "/data/cluster"))
    }

    @Test func `the connection URL encodes any database name`() {
        let connection = ClusterConnection(
            socketDirectory: "/tmp/a b",
            role: "concord",
            dataDirectory: "/data",
            logFile: "/data/server.log",
            processID: 1,
            majorVersion: 15,
            origin: .started,
            notice: nil
        )
        #expect(
            connection.url(database: "ü?&/x") == "postgresql://concord@/%C3%BC%3F%26%2Fx?host=%2Ftmp%2Fa%20b&port=5432"
        )
    }

    @Test func `settings are quoted and sorted, and those of the caller win`() {
        let settings = ClusterSettings(additional: ["work_mem": "8MB", "port": "1", "search_path": #"a'b\c"#])
        let lines = settings.configurationFile(socketDirectory: "/tmp/s").split(separator: "\n").map(String.init)
        #expect(lines == lines.sorted())
        #expect(lines.contains("listen_addresses = ''"))
        #expect(lines.contains("port = '1'"))
        #expect(lines.contains(#"search_path = 'a''b\\c'"#))
        #expect(!lines.contains { $0.hasPrefix("fsync") })
        let disposable = ClusterSettings.disposable.configurationFile(socketDirectory: "/tmp/s")
        #expect(disposable.contains("fsync = 'off'\n"))
    }

    @Test func `an existing socket directory is used only if no other user can access it`() async throws {
        try await withTemporaryDirectory { root in
            let owner = try ServerUser.forThisProcess()
            let path = try prepareSocketDirectory(root: root, dataDirectory: "/data", owner: owner)
            #expect(try prepareSocketDirectory(root: root, dataDirectory: "/data", owner: owner) == path)
            let facts = try #require(FileFacts(path))
            #expect(facts.owner == owner.userID)
            #expect(facts.permissions == 0o700)
            #expect(try prepareSocketDirectory(root: root, dataDirectory: "/other", owner: owner) != path)

            // An attacker who guessed the name has created a symbolic link.
            #expect(rmdir(path) == 0)
            #expect(symlink(root, path) == 0)
            #expect(throws: PostgresClusterError.self) {
                try prepareSocketDirectory(root: root, dataDirectory: "/data", owner: owner)
            }
        }
    }

    @Test func `a socket path that is too long for the kernel is refused`() throws {
        let root = "/tmp/\(String(repeating: "x", count: 80))"
        let owner = try ServerUser.forThisProcess()
        #expect {
            try prepareSocketDirectory(root: root, dataDirectory: "/data", owner: owner)
        } throws: { error in
            if case PostgresClusterError.socketPathTooLong = error { true } else { false }
        }
    }

    @Test func `every error is one line without a full stop`() {
        let errors: [PostgresClusterError] = [
            .serverNotInstalled(searched: ["/a", "/b"]), .serverUserMissing, .cannotSwitchUser,
            .inUse(directory: "/d", processID: 7), .inUse(directory: "/d", processID: nil), .notADataDirectory("/d"),
            .versionMismatch(directory: "/d", found: 13, installed: [15, 17]), .incompleteCluster("/d"),
            .ownedByAnotherUser(directory: "/d", userID: 3), .socketPathTooLong("/s"),
            .commandFailed(command: "initdb", output: "no"),
            .systemCall(operation: "open", path: "/d", reason: "denied"), .notRunning, .busy, .cancelled,
        ]
        for error in errors {
            #expect(!error.description.contains("\n"))
            #expect(!error.description.hasSuffix("."))
        }
        #expect("\(errors[0])".contains("apt-get install postgresql"))
        #expect("\(errors[6])".contains("only 15, 17 is installed"))
    }
}

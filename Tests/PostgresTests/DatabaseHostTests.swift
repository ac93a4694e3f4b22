import AccountTestSupport
import Glibc
import Synchronization
import Testing

@testable import NameResolution
@testable import Postgres

/// A client finds the servers that its connection string names.
@Suite(.timeLimit(.minutes(20))) struct DatabaseHostTests {
    private func hosts(_ connectionString: String) throws -> [DatabaseHost] {
        DatabaseHost.all(of: try PostgresConfiguration(connectionString: connectionString).parameters)
    }

    @Test func `hosts are parsed as libpq parses them`() throws {
        #expect(
            try hosts("postgresql://u@a.example,10.0.0.2:5433/x") == [
                DatabaseHost(name: "a.example"), DatabaseHost(name: "10.0.0.2", port: "5433"),
            ]
        )
        #expect(
            try hosts("host=a,b,c hostaddr=,10.0.0.2, port=5433") == [
                DatabaseHost(name: "a", port: "5433"), DatabaseHost(name: "b", address: "10.0.0.2", port: "5433"),
                DatabaseHost(name: "c", port: "5433"),
            ]
        )
        // Strings that libpq refuses, or completes from its environment.
        for text in ["host=a,b hostaddr=10.0.0.1", "host=a,b port=1,2,3", "hostaddr=10.0.0.1", "dbname=x"] {
            #expect(try hosts(text) == [], "\(text)")
        }
        let names = [
            "a": true, "localhost": true, "10.0.0.2": false, "::1": false, "/tmp": false, "@a": false, "": false,
        ]
        for (name, isName) in names { #expect(DatabaseHost(name: name).isName == isName, "\(name)") }
        #expect(!DatabaseHost(name: "a", address: "10.0.0.2").isName)
    }

    @Test func `all addresses of all names are tried, and names without an address are left out`() throws {
        var configuration = try PostgresConfiguration(connectionString: "host=a,gone,/tmp,b port=1,2,3,4")
        configuration.lookUp = { name throws(HostResolver.HostNotFound) in
            switch name {
            case "a": return ["10.0.0.1", "::1"]
            case "b": return ["10.0.0.2"]
            default: throw HostResolver.HostNotFound(reason: "unknown")
            }
        }
        let found = try DatabaseHosts(configuration).lookUp(until: currentInstant() + .seconds(600))
        #expect(found.map(\.value) == ["a,a,/tmp,b", "10.0.0.1,::1,,10.0.0.2", "1,1,3,4"])

        configuration = try PostgresConfiguration(connectionString: "host=gone,lost")
        configuration.lookUp = { name throws(HostResolver.HostNotFound) in
            throw HostResolver.HostNotFound(reason: "unknown")
        }
        let hosts = DatabaseHosts(configuration)
        #expect(throws: PostgresError(.unavailable, "could not translate host name \"gone\" to address: unknown")) {
            try hosts.lookUp(until: currentInstant() + .seconds(600))
        }
    }

    @Test func `callers share one look-up of a host, and an address that arrives too late serves the next`()
        async throws
    {
        let resolver = Resolver()
        var configuration = try PostgresConfiguration(connectionString: "host=a")
        configuration.connectTimeout = .seconds(600)
        configuration.lookUp = resolver.lookUp
        resolver.hang()
        let hosts = DatabaseHosts(configuration)
        for _ in 0..<3 {
            await #expect(throws: DatabaseHosts.tooSlow) {
                try await Task.detached { try hosts.lookUp(until: currentInstant() + .milliseconds(10)) }.value
            }
        }
        #expect(resolver.asked == 1)
        resolver.goOn()
        try await eventually { !hosts.resolver.isLookingUp }
        _ = try hosts.lookUp(until: currentInstant() + .seconds(600))
        _ = try hosts.lookUp(until: currentInstant() + .seconds(600))
        #expect(resolver.asked == 1)
    }

    @Test func `the system finds the addresses of this machine`() throws {
        let addresses = try HostResolver.system("localhost")
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(throws: HostResolver.HostNotFound.self) { try HostResolver.system("no.such.host.invalid") }
    }

    @Test func `while name servers do not answer, statements go on over open connections`() async throws {
        let port = try freePort()
        let cluster = try TestCluster(settings: ["listen_addresses=127.0.0.1", "port=\(port)"])
        defer { cluster.dispose() }
        let resolver = Resolver()
        var configuration = try PostgresConfiguration(
            connectionString: "host=gone.test,db.test port=\(port) user=postgres target_session_attrs=read-write"
        )
        configuration.lookUp = resolver.lookUp
        let one: Query<Int64> = "SELECT 1::int8"
        try await withClient(of: configuration) { client, _ in
            try await client.expect(one, returns: [1])
            try await client.transaction("nothing") { tx throws(PostgresError) in _ = try tx.execute("SELECT 1") }
            try await eventually { client.state.reachability == .connected && client.state.read.connections == 2 }
            resolver.hang()
            // Kills one connection of each lane. The next look-up does not end.
            let process: Query<Int32> = "SELECT pg_backend_pid()"
            var batch = WriteBatch("process")
            batch.append(process.sql)
            let processes = try await client.read(process) + client.write(batch).rows(0, as: Int32.self)
            for process in processes {
                try await execute(
                    "SELECT pg_terminate_backend(\(process))",
                    on: PostgresConfiguration(connectionString: "host=127.0.0.1 port=\(port) user=postgres")
                )
            }
            try await eventually { client.state.read.connections == 1 && client.state.write.connections == 1 }
            try await eventually { resolver.isHanging }
            for _ in 0..<20 {
                try await client.expect(one, returns: [1])
                var batch = WriteBatch("nothing")
                batch.append("SELECT 1")
                _ = try await client.write(batch)
                try await client.transaction("nothing") { tx throws(PostgresError) in _ = try tx.execute("SELECT 1") }
            }
            #expect(resolver.isHanging)
            resolver.goOn()
            try await eventually { client.state.read.connections == 2 && client.state.write.connections == 2 }
        }
    }

    /// A name server that can stop answering.
    private final class Resolver: Sendable {
        private struct State {
            var asked = 0
            var isSilent = false
            var isHanging = false
        }

        private let state = Mutex(State())

        var asked: Int { state.withLock(\.asked) }
        var isHanging: Bool { state.withLock(\.isHanging) }

        func hang() { state.withLock { $0.isSilent = true } }
        func goOn() { state.withLock { $0.isSilent = false } }

        var lookUp: HostResolver.LookUp {
            { name throws(HostResolver.HostNotFound) in
                guard name != "gone.test" else { throw HostResolver.HostNotFound(reason: "unknown") }
                self.state.withLock { $0.asked += 1 }
                while self.state.withLock({
                    $0.isHanging = $0.isSilent
                    return $0.isSilent
                }) { usleep(1000) }
                return ["127.0.0.1"]
            }
        }
    }
}

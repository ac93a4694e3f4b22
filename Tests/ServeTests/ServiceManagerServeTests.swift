import AccountTestSupport
import Testing

/// `concord serve` as a unit of systemd with `Type=notify`.
struct ServiceManagerServeTests {
    @Test func `serve reports to the service manager that it is ready, and that it stops`() async throws {
        try await Folder.with { folder in
            let socket = try NotifySocket(folder.path("notify"))
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await ServeProcess.run(database: database.url, ["NOTIFY_SOCKET": socket.name]) { _ in
                    #expect(socket.next() == "READY=1")
                    #expect(socket.next() == nil)
                }
            }
            #expect(socket.next() == "STOPPING=1")
            #expect(socket.next() == nil)
        }
    }
}

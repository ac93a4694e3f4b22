import AccountTestSupport
import Foundation
import Testing

@testable import concord

/// The reports to systemd.
struct ServiceManagerTests {
    @Test func `a state is sent to a socket in a folder`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "concord-\(UUID().uuidString)").path()
        let socket = try NotifySocket(path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": path]))
        manager.report(.ready)
        #expect(socket.next() == "READY=1")
        manager.report(.stopping)
        #expect(socket.next() == "STOPPING=1")
        #expect(socket.next() == nil)
    }

    @Test func `a state is sent to a socket with an abstract name`() throws {
        let socket = try NotifySocket("@concord-\(UUID().uuidString)")
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": socket.name]))
        manager.report(.ready)
        #expect(socket.next() == "READY=1")
    }

    @Test func `a socket that is gone is ignored`() throws {
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": "/nowhere/notify"]))
        manager.report(.ready)
    }

    @Test(arguments: ["", "@", "/", "relative", "vsock:2:1", "/" + String(repeating: "a", count: 107)])
    func `a value that names no Unix socket is no manager`(name: String) {
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": name]) == nil)
        #expect(ServiceManager(environment: [:]) == nil)
    }
}

import NIOCore
import NIOPosix

/// A port that nobody listens at, and that the system gives to nobody who leaves the choice to it, as other tests do.
package func freePort() async throws -> Int {
    while true {
        let port = Int.random(in: 20_000..<32_000)
        guard
            let channel = try? await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: port).get()
        else { continue }
        try await channel.close()
        return port
    }
}

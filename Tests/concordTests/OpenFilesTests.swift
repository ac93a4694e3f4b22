import Testing

@testable import concord

/// The division of the files that a server may open.
struct OpenFilesTests {
    @Test(arguments: [
        (128, 32, 48), (256, 128, 64), (1024, 512, 256), (4096, 3584, 256), (8192, 7168, 512), (16_384, 14_336, 1024),
        (1 << 20, (1 << 20) - 2048, 1024),
    ])
    func `clients get what the reserve leaves, and outgoing requests get half of the reserve`(
        limit: Int,
        clients: Int,
        outgoing: Int
    ) {
        let files = OpenFiles(limit: limit)
        #expect(files.room == clients && files.outgoingRequests == outgoing)
    }

    @Test func `the reserve holds outgoing requests, two operator listeners, and others`() {
        for limit in 128...20_000 {
            let files = OpenFiles(limit: limit)
            #expect(files.outgoingRequests + 2 * files.operatorsConnections + 24 <= limit - files.room)
        }
    }
}

import AccountTestSupport
import Foundation
import Testing

@testable import AccountStore
@testable import Postgres

struct CallNamesTests {
    @Test func `every write and transaction of the store has a name in the list of measured calls`() throws {
        let folder = Repository.root + "/Sources/AccountStore"
        let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
        var names: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = String(
                decoding: try #require(FileManager.default.contents(atPath: "\(folder)/\(file)")),
                as: UTF8.self
            )
            for call in text.matches(of: #/(?:WriteBatch|\.transaction)\(\s*"([^"]+)"/#) {
                names.insert(String(call.1))
            }
        }
        #expect(names.contains("account-write"))
        let listed = AccountStore.callNames.filter { !$0.hasPrefix("read-") }
        #expect(names.sorted() == listed.sorted())
        #expect(Set(AccountStore.callNames).count == AccountStore.callNames.count)
    }
}

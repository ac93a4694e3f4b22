import HTTPTypes
import Testing

@testable import AccountAPI

struct RouteTableTests {
    private static let table: RouteTable<String> = {
        var table = RouteTable<String>()
        table.add(.post, "/v1/accounts:signUp", "signUp")
        table.add(.get, "/v1/projects", "list")
        table.add(.get, "/v1/projects/{project}", "get")
        table.add(.post, "/v1/projects/{project}:query", "query")
        table.add(.get, "/v1/projects/{project}:query", "count")
        table.add(.patch, "/v2/{project}/idps/{id}", "patch")
        table.add(.delete, "/v2/{project}/idps/{id}", "delete")
        return table
    }()

    private func find(_ method: HTTPRequest.Method, _ path: String) -> String? {
        Self.table.find(method, path).map { found in
            ([found.target] + found.captures.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
                .joined(separator: " ")
        }
    }

    @Test(
        arguments: [
            (.post, "/v1/accounts:signUp", "signUp"), (.post, "/v1/accounts%3AsignUp", "signUp"),
            (.post, "//v1/accounts:signUp/", "signUp"), (.get, "/v1/accounts:signUp", nil),
            (.post, "/v1/accounts:signup", nil), (.post, "/v1/accounts:signUp/x", nil), (.get, "/", nil),
            (.get, "", nil),
            (.get, "/v1/projects", "list"), (.head, "/v1/projects", "list"), (.get, "/v1/projects/a", "get project=a"),
            // What says more wins, whichever was added first.
            (.get, "/v1/projects/a:query", "count project=a"), (.post, "/v1/projects/a:query", "query project=a"),
            (.post, "/v1/projects/:query", nil), (.get, "/v1/projects/:query", "get project=:query"),
            (.patch, "/v2/a/idps/oidc.b", "patch id=oidc.b project=a"),
            (.delete, "/v2/a%20b/idps/c%2Fd", "delete id=c/d project=a b"),
            (.patch, "/v2/a/idps/%FF", nil), (.patch, "/v2/a/idps/%4", nil), (.patch, "/v2/a/idps/%zz", nil),
            (.get, "/v2/a/idps/b", nil), (.patch, "/v2//idps/b", nil),
        ] as [(HTTPRequest.Method, String, String?)]
    )
    func `a path finds the route that was added for it`(method: HTTPRequest.Method, path: String, expected: String?) {
        #expect(find(method, path) == expected)
    }
}

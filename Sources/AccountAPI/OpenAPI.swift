import EmbeddedFiles
import HTTPTypes

extension Route {
    /// The description of Concord's own routes (OpenAPI 3.1). Tests compare its paths with the routes, and the answers and
    /// the examples with its schemas.
    static let openAPI = Route(.get, "/openapi.json", access: .anyone) { _ in
        APIResponse(json: EmbeddedFile.bytes(of: "Sources/AccountAPI/OpenAPI/openapi.json"), maxAgeSeconds: 3600)
    }
}

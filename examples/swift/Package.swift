// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "concord-example",
    platforms: [.macOS(.v12)],
    // A link to clients/swift: SwiftPM names packages after their folders, and this one is called `swift` too.
    dependencies: [.package(path: "ConcordAuth")],
    targets: [
        .executableTarget(
            name: "concord-example",
            dependencies: [.product(name: "ConcordAuth", package: "ConcordAuth")],
            path: "Sources"
        )
    ]
)

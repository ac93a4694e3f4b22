// swift-tools-version: 6.0
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "ConcordAuth",
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8)],
    products: [.library(name: "ConcordAuth", targets: ["ConcordAuth"])],
    dependencies: [.package(url: "https://github.com/apple/swift-crypto", "3.0.0"..<"5.0.0")],
    targets: [
        .target(
            name: "ConcordAuth",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict
        ),
        .testTarget(name: "ConcordAuthTests", dependencies: ["ConcordAuth"], swiftSettings: strict),
    ]
)

// swift-tools-version: 6.2
import PackageDescription

/// Settings every target of ours is built with; see CONTRIBUTING.md, "Language".
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "concord",
    products: [
        .executable(name: "concord", targets: ["concord"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
    ],
    targets: [
        // C libraries: a module map and a shim each, no logic.
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(name: "CCrypt", pkgConfig: "libcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),

        // libphonenumber is C++: a function of C in front of it.
        .target(
            name: "CPhoneNumber",
            linkerSettings: [.linkedLibrary("phonenumber"), .linkedLibrary("protobuf")]
        ),

        // ICU renames its functions with each version: one function of C in front of it.
        .target(name: "CUnicodeSecurity", linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]),

        // The rules. Pure; depends on nothing of ours.
        .target(name: "AccountLinking", dependencies: ["CIDN2", "CUnicodeSecurity"], swiftSettings: strict),

        // Infrastructure that knows no accounts.
        .target(name: "JSON", swiftSettings: strict),
        .target(
            name: "Postgres",
            dependencies: [
                "CLibpq",
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "PrometheusMetrics",
            dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: strict
        ),
        .target(
            name: "PostgresCluster",
            dependencies: [
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Migrations",
            dependencies: ["Postgres", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict
        ),

        .target(
            name: "HTTPServer",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),

        // The service, from the database up.
        .target(name: "AccountStore", dependencies: ["AccountLinking", "JSON", "Postgres"], swiftSettings: strict),
        .target(
            name: "IdentityProviders",
            dependencies: [
                "AccountLinking", "JSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Delivery",
            dependencies: [
                "AccountLinking", "CCurl", "IdentityProviders", "JSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Mustache", package: "swift-mustache"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            // What mails say, inside the program as the pages are.
            resources: [.embedInCode("Templates")],
            swiftSettings: strict
        ),
        .target(
            name: "AccountOperations",
            dependencies: [
                "AccountLinking", "AccountStore", "CArgon2", "CCrypt", "CPhoneNumber", "Delivery", "IdentityProviders",
                "JSON", "Postgres",
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "AccountAPI",
            dependencies: [
                "AccountLinking", "AccountOperations", "HTTPServer", "IdentityProviders", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            // The page for people: the program is deployed alone, so its files are inside it (ADR 0022).
            resources: [.embedInCode("Pages")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "concord",
            dependencies: [
                "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "Delivery", "HTTPServer",
                "IdentityProviders", "JSON", "Migrations", "Postgres", "PostgresCluster", "PrometheusMetrics",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict
        ),

        // The demonstration: an issuer and a client, over HTTP only. Knows nothing of the service but its URL.
        .executableTarget(
            name: "concord-demo",
            dependencies: [
                "HTTPServer", "JSON",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/demo",
            swiftSettings: strict
        ),

        // The benchmarks: a cluster with many accounts, a load generator, and `pgbench` to compare with.
        .executableTarget(
            name: "concord-bench",
            dependencies: [
                "AccountLinking", "AccountOperations", "AccountStore", "JSON", "Postgres", "PostgresCluster",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Sources/bench",
            exclude: ["SQL"],
            swiftSettings: strict
        ),

        // Tests. `AccountTestSupport` is what several of them share.
        .target(
            name: "AccountTestSupport",
            dependencies: [
                "AccountLinking", "AccountOperations", "AccountStore", "Delivery", "IdentityProviders", "JSON",
                "Migrations", "Postgres", "PostgresCluster",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            path: "Tests/AccountTestSupport",
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "HTTPServer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: strict),
        .testTarget(
            name: "DeliveryTests",
            dependencies: [
                "AccountLinking", "AccountTestSupport", "Delivery", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            exclude: ["Golden"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AccountLinkingTests",
            dependencies: ["AccountLinking", "AccountTestSupport"],
            exclude: ["Golden"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AccountStoreTests",
            dependencies: ["AccountLinking", "AccountStore", "AccountTestSupport", "JSON", "Postgres"],
            exclude: ["Golden"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AccountOperationsTests",
            dependencies: [
                "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport", "Delivery",
                "IdentityProviders", "JSON", "Postgres", "PostgresCluster",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AccountAPITests",
            dependencies: [
                "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport",
                "HTTPServer", "JSON", "Postgres",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            exclude: ["Golden"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MigrationsTests",
            dependencies: [
                "AccountStore", "AccountTestSupport", "Migrations", "Postgres", "PostgresCluster",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["Golden", "Rows"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "concordTests",
            dependencies: [
                "concord", "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport",
                "Delivery", "HTTPServer", "IdentityProviders", "JSON", "Migrations", "Postgres", "PrometheusMetrics",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            exclude: ["Golden"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "AccountTestSupport", "Postgres", .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PrometheusMetricsTests",
            dependencies: [
                "AccountTestSupport", "PrometheusMetrics",
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "PostgresClusterTests", dependencies: ["PostgresCluster"], swiftSettings: strict),
        .testTarget(name: "RepositoryTests", swiftSettings: strict),
        .testTarget(
            name: "IdentityProvidersTests",
            dependencies: [
                "AccountLinking", "AccountTestSupport", "IdentityProviders", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "DemoTests",
            dependencies: [
                "concord", "concord-demo", "AccountTestSupport",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ServeTests",
            dependencies: [
                "concord", "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport",
                "IdentityProviders", "JSON", "Migrations", "Postgres", "PostgresCluster",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PageTests",
            dependencies: [
                "concord", "AccountTestSupport", "IdentityProviders", "JSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        // The next test target goes here.
    ],
    cxxLanguageStandard: .cxx17
)

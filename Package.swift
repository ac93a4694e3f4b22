// swift-tools-version: 6.2
import PackageDescription

/// Compiler settings of every Swift target; see CONTRIBUTING.md, "Language".
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// External packages, each pinned to one version, with the products that targets use.
let packages: [(url: String, version: Version, products: [String])] = [
    ("https://github.com/apple/swift-nio", "2.101.2", ["NIOCore", "NIOEmbedded", "NIOHTTP1", "NIOPosix"]),
    ("https://github.com/apple/swift-nio-extras", "1.35.2", ["NIOExtras"]),
    ("https://github.com/apple/swift-nio-http2", "1.46.0", ["NIOHTTP2"]),
    ("https://github.com/apple/swift-nio-ssl", "2.37.6", ["NIOSSL"]),
    ("https://github.com/apple/swift-crypto", "4.5.2", ["Crypto", "CryptoExtras"]),
    ("https://github.com/apple/swift-certificates", "1.21.1", ["X509"]),
    ("https://github.com/apple/swift-asn1", "1.7.4", ["SwiftASN1"]),
    ("https://github.com/vapor/jwt-kit", "5.7.1", ["JWTKit"]),
    ("https://github.com/swift-server/swift-service-lifecycle", "2.13.0", ["ServiceLifecycle", "UnixSignals"]),
    ("https://github.com/apple/swift-argument-parser", "1.8.2", ["ArgumentParser"]),
    ("https://github.com/apple/swift-http-types", "1.8.0", ["HTTPTypes"]),
    ("https://github.com/apple/swift-log", "1.16.2", ["Logging"]),
    ("https://github.com/apple/swift-distributed-tracing", "1.7.3", ["Instrumentation", "Tracing"]),
    ("https://github.com/apple/swift-metrics", "2.13.0", ["CoreMetrics", "Metrics", "MetricsTestKit"]),
    ("https://github.com/apple/swift-collections", "1.6.0", ["DequeModule", "HeapModule"]),
    ("https://github.com/swiftlang/swift-subprocess", "1.0.2", ["Subprocess"]),
    ("https://github.com/apple/swift-system", "1.8.1", ["SystemPackage"]),
    ("https://github.com/jpsim/Yams", "6.2.2", ["Yams"]),
    ("https://github.com/hummingbird-project/swift-mustache", "2.1.1", ["Mustache"]),
]

/// Every Swift target, with the modules that it may import. `RepositoryTests` checks the imports of the sources.
let imports = [
    // The rules. Pure; depends on no other Swift target.
    "AccountLinking": ["CIDN2", "CUnicodeSecurity"],

    // Infrastructure that knows no accounts.
    "EmbeddedFiles": ["CEmbeddedFiles"],
    "HTTPClient": ["CCurl"],
    "JSON": [],
    "NameResolution": [],
    "Spans": ["Tracing"],
    "Postgres": ["CLibpq", "DequeModule", "Metrics", "NameResolution", "Spans", "Tracing"],
    "PrometheusMetrics": ["CoreMetrics"],
    "OpenTelemetry": ["JSON", "PrometheusMetrics", "ServiceLifecycle", "Spans", "Tracing"],
    "PostgresCluster": ["Subprocess", "SystemPackage"],
    "Migrations": ["Crypto", "EmbeddedFiles", "Postgres"],
    "HTTPServer": ["HTTPTypes", "NIOCore", "NIOExtras", "NIOHTTP1", "NIOPosix", "NIOSSL", "ServiceLifecycle"],

    // The service, from the database up.
    "AccountStore": ["AccountLinking", "JSON", "Postgres"],
    "IdentityProviders": [
        "AccountLinking", "Crypto", "CryptoExtras", "HTTPClient", "JSON", "Logging", "NIOCore", "NIOPosix",
        "NameResolution", "Spans", "Tracing",
    ],
    "Delivery": [
        "AccountLinking", "CCurl", "Crypto", "EmbeddedFiles", "HTTPClient", "IdentityProviders", "JSON", "Mustache",
        "NIOPosix", "Spans", "Tracing",
    ],
    "AccountOperations": [
        "AccountLinking", "AccountStore", "CArgon2", "CCrypt", "CPhoneNumber", "Crypto", "CryptoExtras", "Delivery",
        "EmbeddedFiles", "HeapModule", "IdentityProviders", "JSON", "Metrics", "NIOPosix", "Postgres",
        "ServiceLifecycle", "Spans", "SwiftASN1", "Tracing", "X509",
    ],
    "AccountAPI": [
        "AccountLinking", "AccountOperations", "Crypto", "EmbeddedFiles", "HTTPServer", "HTTPTypes",
        "IdentityProviders", "JSON", "Logging", "Metrics", "NIOCore", "NIOHTTP1", "Spans", "Tracing",
    ],
    "concord": [
        "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "ArgumentParser", "Crypto", "Delivery",
        "HTTPClient", "HTTPServer", "IdentityProviders", "JSON", "Logging", "Metrics", "Migrations", "NIOCore",
        "NIOPosix", "NIOSSL", "NameResolution", "OpenTelemetry", "Postgres", "PostgresCluster", "PrometheusMetrics",
        "ServiceLifecycle", "Spans", "Tracing", "UnixSignals", "Yams",
    ],

    // The client for apps. Apps use the manifest clients/swift/Package.swift.
    "ConcordAuth": ["Crypto"],
    // The example app of the client. It has a manifest too: examples/swift/Package.swift.
    "concord-example": ["ConcordAuth"],

    // The demonstration: an issuer and a client, which use the service only over HTTP.
    "concord-demo": [
        "ArgumentParser", "Crypto", "HTTPClient", "HTTPServer", "HTTPTypes", "JSON", "NIOCore", "NIOHTTP1", "NIOPosix",
    ],

    // The benchmarks: a cluster with many accounts, a load generator, and a comparison with `pgbench`.
    "concord-bench": [
        "AccountLinking", "AccountOperations", "AccountStore", "ArgumentParser", "Crypto", "JSON", "Postgres",
        "PostgresCluster",
    ],

    // Tests. `AccountTestSupport` has the code that several of them share.
    "AccountTestSupport": [
        "AccountLinking", "AccountOperations", "AccountStore", "Crypto", "CryptoExtras", "Delivery",
        "IdentityProviders", "JSON", "Logging", "Migrations", "NIOCore", "NIOHTTP1", "NIOHTTP2", "NIOPosix", "NIOSSL",
        "OpenTelemetry", "Postgres", "PostgresCluster", "Spans", "Subprocess", "SwiftASN1", "SystemPackage", "X509",
    ],
    "HTTPClientTests": ["AccountTestSupport", "HTTPClient", "NIOHTTP1"],
    "HTTPServerTests": ["HTTPServer", "HTTPTypes", "NIOCore", "NIOEmbedded", "NIOHTTP1"],
    "JSONTests": ["JSON"],
    "DeliveryTests": [
        "AccountLinking", "AccountTestSupport", "Crypto", "Delivery", "EmbeddedFiles", "IdentityProviders", "JSON",
        "NIOHTTP1", "OpenTelemetry", "Spans", "Tracing",
    ],
    "AccountLinkingTests": ["AccountLinking", "AccountTestSupport"],
    "AccountStoreTests": ["AccountLinking", "AccountStore", "AccountTestSupport", "JSON", "Postgres"],
    "AccountOperationsTests": [
        "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport", "Crypto", "Delivery",
        "IdentityProviders", "JSON", "JWTKit", "MetricsTestKit", "NIOHTTP1", "OpenTelemetry", "Postgres",
        "PostgresCluster", "Spans", "SwiftASN1", "Tracing", "X509",
    ],
    "AccountAPITests": [
        "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport", "Crypto",
        "EmbeddedFiles", "HTTPServer", "HTTPTypes", "IdentityProviders", "JSON", "Logging", "NIOCore", "NIOHTTP1",
        "OpenTelemetry", "Postgres", "Spans", "Tracing",
    ],
    "MigrationsTests": [
        "AccountStore", "AccountTestSupport", "Migrations", "Postgres", "PostgresCluster", "Subprocess",
        "SystemPackage",
    ],
    "concordTests": [
        "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport", "ArgumentParser",
        "Crypto", "Delivery", "HTTPServer", "HTTPTypes", "IdentityProviders", "JSON", "Logging", "Migrations",
        "NIOCore", "NIOHTTP1", "Postgres", "PostgresCluster", "PrometheusMetrics", "concord",
    ],
    "PostgresTests": [
        "AccountTestSupport", "Metrics", "MetricsTestKit", "NameResolution", "OpenTelemetry", "Postgres", "Spans",
        "Tracing",
    ],
    "OpenTelemetryTests": [
        "AccountTestSupport", "Metrics", "OpenTelemetry", "PrometheusMetrics", "ServiceLifecycle", "Spans", "Tracing",
    ],
    "PrometheusMetricsTests": ["AccountTestSupport", "Metrics", "PrometheusMetrics"],
    "PostgresClusterTests": ["PostgresCluster"],
    "RepositoryTests": [],
    "IdentityProvidersTests": [
        "AccountLinking", "AccountTestSupport", "Crypto", "CryptoExtras", "IdentityProviders", "JSON", "Logging",
        "NIOCore", "NIOHTTP1", "NameResolution", "OpenTelemetry", "Spans", "Tracing",
    ],
    // The client without a server.
    "ConcordAuthTests": ["ConcordAuth", "Crypto"],
    // These tests run the programs, so they depend on them.
    "SwiftClientTests": [
        "AccountOperations", "AccountStore", "AccountTestSupport", "ConcordAuth", "Crypto", "HTTPClient", "JSON",
        "NIOCore", "NIOPosix", "Subprocess", "SystemPackage", "concord", "concord-example",
    ],
    "DemoTests": ["AccountTestSupport", "Subprocess", "SystemPackage", "concord", "concord-demo"],
    "ServeTests": [
        "AccountAPI", "AccountLinking", "AccountOperations", "AccountStore", "AccountTestSupport", "Crypto",
        "CryptoExtras", "HTTPClient", "HTTPTypes", "IdentityProviders", "JSON", "Migrations", "NIOCore", "NIOHTTP1",
        "NIOPosix", "NIOSSL", "Postgres", "PostgresCluster", "Subprocess", "SystemPackage", "concord",
    ],
    "PageTests": [
        "AccountTestSupport", "HTTPClient", "IdentityProviders", "JSON", "NIOHTTP1", "Postgres", "Subprocess",
        "SystemPackage", "concord",
    ],
    // The next target goes here.
]

/// Folders of targets that are not at the default path of SwiftPM.
let paths = [
    "concord-demo": "Sources/demo", "concord-bench": "Benchmarks", "AccountTestSupport": "Tests/AccountTestSupport",
    "ConcordAuth": "clients/swift/Sources/ConcordAuth",
    "ConcordAuthTests": "clients/swift/Tests/ConcordAuthTests", "concord-example": "examples/swift/Sources",
]

/// Files that `CEmbeddedFiles` embeds, and files that tests and benchmarks read from the repository.
let excluded = [
    "AccountAPI": ["OpenAPI", "Pages"], "AccountOperations": ["Passwords/common-passwords.txt"],
    "Delivery": ["Templates"],
    "AccountAPITests": ["Golden"], "AccountLinkingTests": ["Golden"], "AccountStoreTests": ["Golden"],
    "DeliveryTests": ["Golden"], "MigrationsTests": ["Golden", "Rows", "Statements"], "ServeTests": ["Golden"],
    "concord-bench": ["SQL", "thresholds.json"], "concordTests": ["Golden"],
]

func target(_ name: String) -> Target {
    let dependencies = (imports[name] ?? []).map { module -> Target.Dependency in
        let package = packages.first { $0.products.contains(module) }?.url.split(separator: "/").last
        return package.map { .product(name: module, package: String($0)) } ?? .byName(name: module)
    }
    let target: Target =
        if name.hasSuffix("Tests") {
            .testTarget(name: name, dependencies: dependencies)
        } else if name.hasPrefix("concord") {
            .executableTarget(name: name, dependencies: dependencies)
        } else {
            .target(name: name, dependencies: dependencies)
        }
    target.path = paths[name]
    target.exclude = excluded[name] ?? []
    target.swiftSettings = strict
    return target
}

let package = Package(
    name: "concord",
    products: [.executable(name: "concord", targets: ["concord"])],
    dependencies: packages.map { .package(url: $0.url, exact: $0.version) },
    targets: [
        // C libraries: a module map and a shim each, no logic.
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(name: "CCrypt", pkgConfig: "libcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),

        // The pages, templates and migrations in the program.
        .target(name: "CEmbeddedFiles"),

        // libphonenumber is C++: this target wraps it in one C function.
        .target(
            name: "CPhoneNumber",
            linkerSettings: [.linkedLibrary("phonenumber"), .linkedLibrary("protobuf")]
        ),

        // ICU renames its functions with each version: this target wraps the current name in one C function.
        .target(name: "CUnicodeSecurity", linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]),
    ] + imports.keys.sorted().map(target),
    cLanguageStandard: .c2x,
    cxxLanguageStandard: .cxx17
)

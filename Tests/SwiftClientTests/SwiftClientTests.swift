import Testing

/// The Swift client and its example against real servers, one suite after another: on Linux, `URLSession` keeps a core
/// busy while it waits, so that suites at the same time starve the servers.
@Suite(.serialized) enum SwiftClientTests {}

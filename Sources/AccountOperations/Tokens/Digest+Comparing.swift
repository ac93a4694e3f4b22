import Crypto

extension Digest {
    /// Whether the digest is these bytes, in a time that says nothing about where they differ.
    func equals(_ bytes: [UInt8]) -> Bool {
        // `==` between a digest and bytes is constant-time in swift-crypto; lengths are not secret.
        self == bytes
    }
}

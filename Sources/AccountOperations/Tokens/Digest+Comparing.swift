import Crypto

extension Digest {
    /// Returns true if the digest equals `bytes`. Constant time.
    func equals(_ bytes: [UInt8]) -> Bool {
        // swift-crypto compares a digest and bytes in constant time. Lengths are not secret.
        self == bytes
    }
}

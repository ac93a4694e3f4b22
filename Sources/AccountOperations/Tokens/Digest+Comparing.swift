import Crypto

extension Digest {
    /// Constant time.
    func equals(_ bytes: [UInt8]) -> Bool {
        // swift-crypto compares in constant time. Lengths are not secret.
        self == bytes
    }
}

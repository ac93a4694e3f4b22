extension String {
    /// `localId` → `local_id`; every capital begins a word (`iOSBundleId` → `i_o_s_bundle_id`).
    package var snakeCase: String {
        var snake: [UInt8] = []
        for byte in utf8 {
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) {
                snake += [UInt8(ascii: "_"), byte | 0x20]
            } else {
                snake.append(byte)
            }
        }
        return String(decoding: snake, as: UTF8.self)
    }
}

import JSON

/// Small images for tests of logos.
package enum LogoFixture: String, Sendable, CaseIterable {
    /// 48 × 32 pixels.
    case png
    /// 16 × 16 pixels.
    case jpeg
    /// 16 × 16 pixels, in several scans.
    case progressiveJPEG
    /// 48 × 32 pixels, lossy.
    case webp
    /// 48 × 32 pixels.
    case losslessWebP
    /// 48 × 32 pixels, with a canvas and an alpha channel.
    case alphaWebP
    /// Two frames.
    case animatedWebP
    /// Two frames.
    case animatedPNG
    /// 8 × 8 pixels.
    case smallPNG
    /// 1025 × 16 pixels.
    case widePNG

    /// In Base64.
    package var base64: String {
        switch self {
        case .png:
            """
            iVBORw0KGgoAAAANSUhEUgAAADAAAAAgCAIAAADbtmxLAAAAP0lEQVR4nO3OIQHAIAAAQUAuGznoH2F+5iUTdwluPmePP1m3\
            A19CRagIFaEiVISKUBEqQkWoCBWhIlSEilB5AaTHAPwiaBkXAAAAAElFTkSuQmCC
            """
        case .jpeg:
            """
            /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////\
            ////////////////////////wAALCAAQABABAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAA\
            AAD/2gAIAQEAAD8AAP/Z
            """
        case .progressiveJPEG:
            """
            /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////\
            ////////////////////////wgALCAAQABABAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQAAAAEP/8QAFBABAAAA\
            AAAAAAAAAAAAAAAAIP/aAAgBAQABBQIf/8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQAGPwIf/8QAFBABAAAAAAAAAAAA\
            AAAAAAAAIP/aAAgBAQABPyEf/9oACAEBAAAAEA//xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAE/EB//2Q==
            """
        case .webp:
            """
            UklGRkIAAABXRUJQVlA4IDYAAAAQAwCdASowACAAPm02l0ikIyIhJWgAgA2JZwAALqYfEAAA/vEKdNf//lK/+N3+7LfA4XgI\
            AAA=
            """
        case .losslessWebP:
            """
            UklGRh4AAABXRUJQVlA4TBEAAAAvL8AHAAdQsyqUqf+BiOh/AAA=
            """
        case .alphaWebP:
            """
            UklGRmYAAABXRUJQVlA4WAoAAAAQAAAALwAAHwAAQUxQSAoAAAABB1DAiAhERP8DVlA4IDYAAAAQAwCdASowACAAPm02l0ik\
            IyIhJWgAgA2JZwAALqYfEAAA/vEKdNf//lK/+N3+7LfA4XgIAAA=
            """
        case .animatedWebP:
            """
            UklGRoYAAABXRUJQVlA4WAoAAAACAAAADwAADwAAQU5JTQYAAAAAAAAAAABBTk1GKgAAAAAAAAAAAA8AAA8AAGQAAAJWUDhM\
            EQAAAC8PwAMAB1CzKpSp/4GI6H8AAEFOTUYoAAAAAAAAAAAADwAADwAAZAAAAFZQOEwPAAAALw/AAwAHEEWO/gciov8BAA==
            """
        case .animatedPNG:
            """
            iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAACGFjVEwAAAACAAAAAPONk3AAAAAaZmNUTAAAAAAAAAAQAAAA\
            EAAAAAAAAAAAAAEACgAAY0bPJQAAABlJREFUeJxj5ErzYSAFMJGkelTDqIYhpQEAcjQA3BU9COQAAAAaZmNUTAAAAAEAAAAQ\
            AAAAEAAAAAAAAAAAAAEACgAA+DUl8QAAABtmZEFUAAAAAnicYzzBQBpgIlH9qIZRDUNIAwCX5gDolcnEyQAAAABJRU5ErkJg\
            gg==
            """
        case .smallPNG:
            """
            iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAADElEQVR4nGNgGB4AAADIAAGtQHYiAAAAAElFTkSuQmCC
            """
        case .widePNG:
            """
            iVBORw0KGgoAAAANSUhEUgAABAEAAAAQAQAAAABPPVuYAAAAGElEQVR4nGNgGAWjYBSMglEwCkbBKEAFAAggAAGm0bC9AAAA\
            AElFTkSuQmCC
            """
        }
    }

    package var bytes: [UInt8] { Base64URL.decodeEitherAlphabet(base64) ?? [] }

    /// The accepted ones, with their media types and sizes.
    package static let accepted: [(fixture: LogoFixture, type: String, width: Int, height: Int)] = [
        (.png, "image/png", 48, 32), (.jpeg, "image/jpeg", 16, 16), (.progressiveJPEG, "image/jpeg", 16, 16),
        (.webp, "image/webp", 48, 32), (.losslessWebP, "image/webp", 48, 32), (.alphaWebP, "image/webp", 48, 32),
    ]
}

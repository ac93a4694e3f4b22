import Glibc

/// A colour in sRGB with 8 bits for each channel.
package struct HexColor: Sendable, Hashable {
    package let red: UInt8
    package let green: UInt8
    package let blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// - `text`: `#rrggbb` in either case. Any other text is no colour.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 7, bytes[0] == UInt8(ascii: "#") else { return nil }
        var channels: [UInt8] = []
        for index in [1, 3, 5] {
            guard let high = Self.digit(bytes[index]), let low = Self.digit(bytes[index + 1]) else { return nil }
            channels.append(high << 4 | low)
        }
        self.init(red: channels[0], green: channels[1], blue: channels[2])
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    package static let black = HexColor(red: 0, green: 0, blue: 0)
    package static let white = HexColor(red: 255, green: 255, blue: 255)

    /// `#rrggbb` in lower case: the form that is stored, and safe in CSS and HTML.
    package var text: String {
        let digits = Array("0123456789abcdef".unicodeScalars)
        var text = "#"
        for channel in [red, green, blue] {
            text.unicodeScalars.append(digits[Int(channel >> 4)])
            text.unicodeScalars.append(digits[Int(channel & 0x0F)])
        }
        return text
    }

    /// Relative luminance from 0 for black to 1 for white (WCAG 2.2).
    package var luminance: Double {
        0.2126 * Self.linear[Int(red)] + 0.7152 * Self.linear[Int(green)] + 0.0722 * Self.linear[Int(blue)]
    }

    private static let linear: [Double] = (0...255).map { value in
        let channel = Double(value) / 255
        return channel <= 0.04045 ? channel / 12.92 : pow((channel + 0.055) / 1.055, 2.4)
    }

    /// Contrast ratio from 1 to 21, the same in both directions (WCAG 2.2).
    package func contrast(with other: HexColor) -> Double {
        let (one, two) = (luminance, other.luminance)
        return (max(one, two) + 0.05) / (min(one, two) + 0.05)
    }

    /// The colour on the line to `other`: this colour for 0 steps, `other` for `stepsMax`.
    func mixed(with other: HexColor, steps: Int) -> HexColor {
        func channel(_ from: UInt8, _ to: UInt8) -> UInt8 {
            UInt8(clamping: (Int(from) * (Self.stepsMax - steps) + Int(to) * steps) / Self.stepsMax)
        }
        return HexColor(
            red: channel(red, other.red),
            green: channel(green, other.green),
            blue: channel(blue, other.blue)
        )
    }

    static let stepsMax = 255
}

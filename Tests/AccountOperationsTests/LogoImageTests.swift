import AccountTestSupport
import Testing

@testable import AccountOperations

/// Which files can be a logo, by their content.
struct LogoImageTests {
    private func refusal(_ bytes: [UInt8]) -> LogoImage.Refusal? {
        do throws(LogoImage.Refusal) {
            _ = try LogoImage(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func `PNG, JPEG and WebP images are known by their content`() throws {
        for accepted in LogoFixture.accepted {
            let logo = try LogoImage(accepted.fixture.bytes)
            #expect(logo.format.rawValue == accepted.type, "\(accepted.fixture)")
            #expect(logo.width == accepted.width && logo.height == accepted.height, "\(accepted.fixture)")
            #expect(logo.digest.utf8.count == 64)
        }
    }

    @Test func `an image that is cut off anywhere, or followed by anything, is refused`() {
        for (fixture, _, _, _) in LogoFixture.accepted {
            let bytes = fixture.bytes
            for count in bytes.indices { #expect(refusal(Array(bytes[..<count])) != nil, "\(fixture) \(count)") }
            for more in ["\0", "<script>alert(1)</script>", "PK\u{3}\u{4}", "%PDF-1.7"] {
                #expect(refusal(bytes + Array(more.utf8)) != nil, "\(fixture) \(more)")
            }
            #expect(refusal(bytes + bytes) != nil, "\(fixture)")
        }
    }

    @Test func `any damage is accepted or refused, and never crashes`() {
        var random = SystemRandomNumberGenerator()
        for fixture in LogoFixture.allCases {
            for _ in 0..<2_000 {
                var bytes = fixture.bytes
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                if let logo = try? LogoImage(bytes) {
                    #expect(LogoImage.sideBounds.contains(logo.width) && LogoImage.sideBounds.contains(logo.height))
                }
            }
        }
    }

    @Test func `animated images and images of other sizes are refused`() {
        #expect(refusal(LogoFixture.animatedWebP.bytes) == .animated(.webp))
        #expect(refusal(LogoFixture.animatedPNG.bytes) == .animated(.png))
        #expect(refusal(LogoFixture.smallPNG.bytes) == .dimensions(width: 8, height: 8))
        #expect(refusal(LogoFixture.widePNG.bytes) == .dimensions(width: 1025, height: 16))
        #expect(refusal([UInt8](repeating: 0x89, count: LogoImage.bytesMax + 1)) == .tooLarge(bytes: 65_537))
    }

    @Test(
        arguments: [
            "", "GIF89a", "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>",
            "<!doctype html><script>alert(1)</script>", "\u{89}PNG", "BM", "RIFF", "%PDF-1.7", "PK\u{3}\u{4}",
        ]
    )
    func `every other format is refused`(text: String) {
        #expect(refusal(Array(text.utf8)) == .unknownFormat)
    }

    @Test func `sizes in a header are bounded before they are used`() {
        // Width and height of 2³² - 1, and chunks that claim to be longer than the file.
        var png = LogoFixture.png.bytes
        for index in 16..<24 { png[index] = 0xFF }
        #expect(refusal(png) == .dimensions(width: 0xFFFF_FFFF, height: 0xFFFF_FFFF))
        var long = LogoFixture.png.bytes
        for index in 33..<37 { long[index] = 0xFF }
        #expect(refusal(long) == .malformed(.png))
        var webp = LogoFixture.losslessWebP.bytes
        for index in 16..<20 { webp[index] = 0xFF }
        #expect(refusal(webp) == .malformed(.webp))
    }
}

/// A logo: a PNG, JPEG or WebP image, known by its content.
///
/// Concord reads sizes and structure and decodes no pixels. It never changes the bytes. The image ends where its format
/// says so: a file that is also a file of another format is refused if the other begins after the image.
package struct LogoImage: Sendable, Hashable {
    package enum Format: String, Sendable, Hashable, CaseIterable {
        case png = "image/png"
        case jpeg = "image/jpeg"
        case webp = "image/webp"
    }

    package enum Refusal: Error, Sendable, Hashable {
        case tooLarge(bytes: Int)
        case unknownFormat
        /// The structure of the file is broken, or something follows the image.
        case malformed(Format)
        case animated(Format)
        case dimensions(width: Int, height: Int)

        package var text: String {
            switch self {
            case .tooLarge(let bytes): "has \(bytes) bytes, and \(LogoImage.bytesMax) are allowed"
            case .unknownFormat:
                "must be a PNG, JPEG or WebP image; other formats are refused, SVG because it can hold scripts"
            case .malformed(let format): "is not a complete \(format.rawValue) file, or other data follows the image"
            case .animated: "must not be animated"
            case .dimensions(let width, let height):
                """
                is \(width) × \(height) pixels, and each side must have \(LogoImage.sideBounds.lowerBound) to \
                \(LogoImage.sideBounds.upperBound)
                """
            }
        }
    }

    package static let bytesMax = 65_536
    package static let sideBounds = 16...1024

    package let format: Format
    package let width: Int
    package let height: Int
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) throws(Refusal) {
        guard bytes.count <= Self.bytesMax else { throw .tooLarge(bytes: bytes.count) }
        let reader = ImageReader(bytes: bytes)
        let (format, size): (Format, (width: Int, height: Int))
        if reader.has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: 0) {
            (format, size) = (.png, try Self.sizeOfPNG(reader))
        } else if reader.has([0xFF, 0xD8, 0xFF], at: 0) {
            (format, size) = (.jpeg, try Self.sizeOfJPEG(reader))
        } else if reader.has(Array("RIFF".utf8), at: 0), reader.has(Array("WEBP".utf8), at: 8) {
            (format, size) = (.webp, try Self.sizeOfWebP(reader))
        } else {
            throw .unknownFormat
        }
        guard Self.sideBounds.contains(size.width), Self.sideBounds.contains(size.height) else {
            throw .dimensions(width: size.width, height: size.height)
        }
        self.format = format
        self.width = size.width
        self.height = size.height
        self.bytes = bytes
    }

    /// PNG, third edition, §5: a signature, then chunks of length, type, data and checksum, from `IHDR` to `IEND`.
    private static func sizeOfPNG(_ reader: ImageReader) throws(Refusal) -> (width: Int, height: Int) {
        var place = 8
        var size: (width: Int, height: Int)?
        var hasData = false
        while let length = reader.bigEndian(at: place, count: 4), let type = reader.name(at: place + 4) {
            let data = place + 8
            let end = data + length + 4
            guard end <= reader.count else { break }
            switch type {
            case "IHDR":
                guard place == 8, length == 13, let width = reader.bigEndian(at: data, count: 4),
                    let height = reader.bigEndian(at: data + 4, count: 4)
                else { throw .malformed(.png) }
                size = (width, height)
            case "acTL", "fcTL", "fdAT": throw .animated(.png)
            case "IDAT": hasData = true
            case "IEND":
                guard let size, hasData, length == 0, end == reader.count else { throw .malformed(.png) }
                return size
            default: break
            }
            guard size != nil else { break }
            place = end
        }
        throw .malformed(.png)
    }

    /// ISO/IEC 10918-1, annex B: segments from `SOI` to `EOI`; coded data follows each start of a scan.
    private static func sizeOfJPEG(_ reader: ImageReader) throws(Refusal) -> (width: Int, height: Int) {
        var place = 2
        var size: (width: Int, height: Int)?
        var hasScan = false
        while reader.byte(place) == 0xFF, let marker = reader.byte(place + 1) {
            switch marker {
            // Fill bytes may precede a marker.
            case 0xFF:
                place += 1
                continue
            case 0xD9:
                guard let size, hasScan, place + 2 == reader.count else { throw .malformed(.jpeg) }
                return size
            // Markers without a segment belong to coded data only.
            case 0x00, 0x01, 0xD0...0xD8: throw .malformed(.jpeg)
            default: break
            }
            guard let length = reader.bigEndian(at: place + 2, count: 2), length >= 2,
                place + 2 + length <= reader.count
            else { break }
            switch marker {
            case 0xC4, 0xC8, 0xCC: break
            // The frame: precision, height, width. There is one.
            case 0xC0...0xCF:
                guard size == nil, length >= 8, let height = reader.bigEndian(at: place + 5, count: 2),
                    let width = reader.bigEndian(at: place + 7, count: 2)
                else { throw .malformed(.jpeg) }
                size = (width, height)
            default: break
            }
            place += 2 + length
            guard marker == 0xDA else { continue }
            guard size != nil else { throw .malformed(.jpeg) }
            hasScan = true
            // The next marker that is no stuffed byte and no restart ends the coded data.
            while let byte = reader.byte(place) {
                if byte == 0xFF, let next = reader.byte(place + 1), next != 0, !(0xD0...0xD7).contains(next) { break }
                place += 1
            }
        }
        throw .malformed(.jpeg)
    }

    /// WebP container specification: a RIFF file of chunks, each padded to an even length.
    private static func sizeOfWebP(_ reader: ImageReader) throws(Refusal) -> (width: Int, height: Int) {
        guard let length = reader.littleEndian(at: 4, count: 4), length + 8 == reader.count, length % 2 == 0 else {
            throw .malformed(.webp)
        }
        var place = 12
        var canvas: (width: Int, height: Int)?
        var frame: (width: Int, height: Int)?
        while place < reader.count {
            guard let length = reader.littleEndian(at: place + 4, count: 4), let type = reader.name(at: place) else {
                throw .malformed(.webp)
            }
            let data = place + 8
            let end = data + length + length % 2
            guard end <= reader.count else { throw .malformed(.webp) }
            switch type {
            case "VP8X":
                guard place == 12, length >= 10, let flags = reader.byte(data),
                    let width = reader.littleEndian(at: data + 4, count: 3),
                    let height = reader.littleEndian(at: data + 7, count: 3)
                else { throw .malformed(.webp) }
                guard flags & 0x02 == 0 else { throw .animated(.webp) }
                canvas = (width + 1, height + 1)
            case "ANIM", "ANMF": throw .animated(.webp)
            case "VP8 ":
                guard frame == nil, length >= 10, reader.has([0x9D, 0x01, 0x2A], at: data + 3),
                    let width = reader.littleEndian(at: data + 6, count: 2),
                    let height = reader.littleEndian(at: data + 8, count: 2)
                else { throw .malformed(.webp) }
                frame = (width & 0x3FFF, height & 0x3FFF)
            case "VP8L":
                guard frame == nil, length >= 5, reader.byte(data) == 0x2F,
                    let bits = reader.littleEndian(at: data + 1, count: 4)
                else { throw .malformed(.webp) }
                frame = (bits & 0x3FFF + 1, (bits >> 14) & 0x3FFF + 1)
            default:
                guard canvas != nil else { throw .malformed(.webp) }
            }
            place = end
        }
        guard let frame else { throw .malformed(.webp) }
        if let canvas, canvas != frame { throw .malformed(.webp) }
        return frame
    }
}

/// Reads numbers and names at places that may be outside of the file.
private struct ImageReader {
    let bytes: [UInt8]

    var count: Int { bytes.count }

    func byte(_ place: Int) -> UInt8? { bytes.indices.contains(place) ? bytes[place] : nil }

    func has(_ expected: [UInt8], at place: Int) -> Bool {
        place + expected.count <= bytes.count && bytes[place..<place + expected.count].elementsEqual(expected)
    }

    func bigEndian(at place: Int, count: Int) -> Int? {
        guard place + count <= bytes.count else { return nil }
        return bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
    }

    func littleEndian(at place: Int, count: Int) -> Int? {
        guard place + count <= bytes.count else { return nil }
        return bytes[place..<place + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Four printable ASCII characters.
    func name(at place: Int) -> String? {
        guard place + 4 <= bytes.count, bytes[place..<place + 4].allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        return String(decoding: bytes[place..<place + 4], as: UTF8.self)
    }
}

import CEmbeddedFiles

/// A file of the repository that the program contains, so that it is deployed as one file.
///
/// `make golden` lists them in `CEmbeddedFiles/files.c`. The C compiler embeds them at once, while SwiftPM's
/// `embedInCode` writes array literals, which took a twelfth of a build.
package struct EmbeddedFile: Sendable, Hashable {
    /// The name, without its folder.
    package let name: String
    package let bytes: [UInt8]

    /// The bytes of the file at `path`, from the root of the repository. Stops the program if it does not contain it:
    /// paths are constants.
    package static func bytes(of path: String) -> [UInt8] {
        guard let file = files.first(where: { String(cString: $0.path) == path }) else {
            preconditionFailure("\(path) is not embedded: run make golden")
        }
        return bytes(file)
    }

    /// The files in `folder`, by name.
    package static func all(in folder: String) -> [EmbeddedFile] {
        files.compactMap { file in
            let path = String(cString: file.path)
            guard path.hasPrefix(folder + "/") else { return nil }
            return EmbeddedFile(name: String(path.dropFirst(folder.count + 1)), bytes: bytes(file))
        }
    }

    private static var files: UnsafeBufferPointer<CEmbeddedFile> {
        UnsafeBufferPointer(start: cembedded_files(), count: cembedded_files_count())
    }

    private static func bytes(_ file: CEmbeddedFile) -> [UInt8] {
        Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }
}

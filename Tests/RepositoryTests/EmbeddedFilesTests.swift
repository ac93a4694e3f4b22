import Glibc
import Testing

/// The list of the files that the program contains.
struct EmbeddedFilesTests {
    /// The folders, and the ends of the names of the files.
    private static let folders = [
        ("Sources/AccountAPI/OpenAPI", ".json"), ("Sources/AccountAPI/Pages", ""),
        ("Sources/AccountOperations/Passwords", ".txt"), ("Sources/Delivery/Templates", ""),
        ("migrations", ".up.sql"), ("migrations", ".down.sql"),
        // The next one goes here.
    ]

    @Test func `the program contains every page, template and migration`() throws {
        let paths = try Self.folders.flatMap { folder, end in
            try Repository.names(in: folder).filter { $0.hasSuffix(end) }.map { "\(folder)/\($0)" }
        }.sorted()
        let list = "Sources/CEmbeddedFiles/files.c"
        let text = Self.list(of: paths)
        if getenv("UPDATE_GOLDEN").map({ String(cString: $0) }) == "1" {
            let file = try #require(fopen("\(Repository.root)/\(list)", "w"))
            #expect(fputs(text, file) >= 0)
            #expect(fclose(file) == 0)
        }
        #expect(try Repository.file(list).text == text, "UPDATE_GOLDEN=1 rewrites it")
    }

    private static func list(of paths: [String]) -> String {
        let files = paths.enumerated().map { number, path in
            let place = path.hasPrefix("Sources/") ? "../" + path.dropFirst("Sources/".count) : "../../" + path
            return "static const unsigned char file\(number)[] = {\n#embed \"\(place)\"\n};\n"
        }
        let rows = paths.enumerated().map { "    {\"\($1)\", file\($0), sizeof file\($0)},\n" }
        return """
            // `make golden` writes this file.
            #include "CEmbeddedFiles.h"

            \(files.joined())
            static const CEmbeddedFile files[] = {
            \(rows.joined())};

            const CEmbeddedFile *cembedded_files(void) { return files; }
            size_t cembedded_files_count(void) { return sizeof files / sizeof *files; }

            """
    }
}

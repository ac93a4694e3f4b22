package import AccountLinking
import JSON
package import Postgres

/// A logo of the project. Its digest names it: an image never changes.
package struct ProjectImage: Sendable, Hashable {
    /// SHA-256 of the content, in lower-case hexadecimal digits.
    package var digest: String
    package var contentType: String
    /// In pixels.
    package var width: Int32
    package var height: Int32
    package var content: [UInt8]
    /// The last time that a change of the settings brought the image.
    package var storedAt: Timestamp

    package init(
        digest: String,
        contentType: String,
        width: Int32,
        height: Int32,
        content: [UInt8],
        storedAt: Timestamp
    ) {
        self.digest = digest
        self.contentType = contentType
        self.width = width
        self.height = height
        self.content = content
        self.storedAt = storedAt
    }

    /// The places in the settings that name an image.
    package static let settings = ["logo", "logoDark"].map { ["concord", "branding", $0] }

    /// Number of images that stay beside those in use, for older versions of the settings.
    package static let keptMax: Int64 = 20

    /// The digests in `settings`, each once.
    static func digests(in settings: JSONValue) -> [String] {
        let named = Self.settings.compactMap { path in
            path.reduce(.some(settings)) { (value: JSONValue?, name) in value?[name] }?.string
        }
        return Set(named).sorted()
    }
}

struct ProjectImageRow: RowDecodable {
    let image: ProjectImage

    private static let columns = Columns<ProjectImage>(
        of: "project_images",
        [
            Column("digest", \.digest), Column("content_type", \.contentType), Column("width", \.width),
            Column("height", \.height), Column("content", \.content), Column("stored_at", \.storedAt),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        image = ProjectImage(
            digest: try values(\.digest),
            contentType: try values(\.contentType),
            width: try values(\.width),
            height: try values(\.height),
            content: try values(\.content),
            storedAt: try values(\.storedAt)
        )
    }

    static func named(_ digest: String) -> Query<ProjectImageRow> {
        "\(columns.select) WHERE digest = \(digest)"
    }

    /// Stores an image, or notes that it is used again.
    static func keep(_ image: ProjectImage) -> SQL {
        "\(columns.insert(image))\nON CONFLICT (digest) DO UPDATE SET stored_at = EXCLUDED.stored_at"
    }

    /// Returns true if the image is stored.
    static func isStored(_ digest: String) -> Query<Bool> {
        "SELECT true FROM \(table: "project_images") WHERE digest = \(digest)"
    }

    /// Deletes the oldest images, except those in use.
    static func prune(inUse digests: [String]) -> SQL {
        """
        DELETE FROM project_images WHERE digest <> ALL(\(digests)) AND digest NOT IN (
            SELECT digest FROM project_images ORDER BY stored_at DESC, digest LIMIT \(ProjectImage.keptMax)
        )
        """
    }
}

extension AccountStore {
    /// Returns true if the image is stored. One round trip.
    package func isStored(image digest: String) async throws(PostgresError) -> Bool {
        try await client.read(ProjectImageRow.isStored(digest)).first ?? false
    }

    /// The image of a digest; `nil` if it is not stored. One round trip.
    package func projectImage(_ digest: String) async throws(PostgresError) -> ProjectImage? {
        try await client.read(ProjectImageRow.named(digest)).first?.image
    }
}

import CMalloc

/// Large pieces of memory, as bodies of requests and what is read from them.
enum LargeAllocations {
    /// From here on each is a mapping of its own.
    private static let bytesMin: Int32 = 256 << 10
    /// What an arena of smaller pieces keeps when it has no use for it.
    private static let keptBytesMax: Int32 = 1 << 20

    /// Has them given back to the system when they are freed.
    ///
    /// By itself glibc raises both bounds to the size of what is freed, up to 32 MiB (mallopt(3)): after the first large bodies
    /// the next ones come from the arenas of the threads that serve, and what these had at their busiest they keep.
    static func areGivenBack() {
        mallopt(M_MMAP_THRESHOLD, bytesMin)
        mallopt(M_TRIM_THRESHOLD, keptBytesMax)
    }
}

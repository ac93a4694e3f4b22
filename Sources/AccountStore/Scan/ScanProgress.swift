/// How far the reading of tables has come, of which the accounts are put together after that.
package struct ScanProgress: Sendable, Hashable {
    package var blocks: Int64 = 0
    package var blocksInAll: Int64 = 0

    package init() {}
}

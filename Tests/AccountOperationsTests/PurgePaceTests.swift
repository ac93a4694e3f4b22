import AccountOperations
import Testing

/// The size of batches and the rests between them, without a clock.
struct PurgePaceTests {
    @Test func `batches grow while they are fast, up to the setting`() {
        var pace = PurgePace(rowsMax: 10_000)
        var sizes: [Int] = []
        for _ in 0..<6 {
            sizes.append(pace.rows)
            #expect(pace.rest(after: .milliseconds(8)) == .milliseconds(2))
        }
        #expect(sizes == [1000, 2000, 4000, 8000, 10_000, 10_000])
    }

    @Test func `batches shrink while they are slow, and the purge rests as long as they took`() {
        var pace = PurgePace(rowsMax: 10_000)
        var sizes: [Int] = []
        for _ in 0..<6 {
            sizes.append(pace.rows)
            #expect(pace.rest(after: .seconds(1)) == .seconds(1))
        }
        #expect(sizes == [1000, 500, 250, 125, 100, 100])
    }

    @Test func `a batch of about a tenth of a second keeps its size`() {
        var pace = PurgePace(rowsMax: 10_000)
        for milliseconds in [50, 100, 150, 200] { _ = pace.rest(after: .milliseconds(milliseconds)) }
        #expect(pace.rows == 1000)
    }

    @Test func `a failed batch is tried with half of its rows`() {
        var pace = PurgePace(rowsMax: 10_000)
        pace.failed()
        #expect(pace.rows == 500)
        for _ in 0..<10 { pace.failed() }
        #expect(pace.rows == PurgePace.rowsMin)
    }

    @Test(arguments: [1, 10, 99, 100, 999])
    func `no batch exceeds the setting`(_ rowsMax: Int) {
        var pace = PurgePace(rowsMax: rowsMax)
        #expect(pace.rows == rowsMax)
        _ = pace.rest(after: .zero)
        #expect(pace.rows == rowsMax)
        for _ in 0..<10 { pace.failed() }
        #expect(pace.rows == min(rowsMax, PurgePace.rowsMin))
    }

    /// Half of the time of one connection at a tenth of a second for 1,000 rows is 5,000 rows a second.
    @Test(arguments: [1, 4, 10, 20, 40]) func `a backlog shrinks by 5,000 rows a second or more`(
        _ microsecondsPerRow: Int
    ) {
        var pace = PurgePace(rowsMax: 10_000)
        var rows = 0
        var time = Duration.zero
        for _ in 0..<50 {
            let batch = Duration.microseconds(pace.rows * microsecondsPerRow)
            rows += pace.rows
            time += batch + pace.rest(after: batch)
        }
        #expect(Double(rows) / (time / .seconds(1)) >= 5000)
    }
}

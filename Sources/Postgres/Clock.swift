/// Instants of the clock that deadlines are measured with: it neither jumps nor stands still.
typealias Instant = ContinuousClock.Instant

func currentInstant() -> Instant { ContinuousClock.now }

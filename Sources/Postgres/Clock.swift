/// Instants of the monotonic clock that deadlines use. It includes the time that the machine sleeps.
typealias Instant = ContinuousClock.Instant

func currentInstant() -> Instant { ContinuousClock.now }

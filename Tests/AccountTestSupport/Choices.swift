/// An odometer over every combination of choices: each `choose` is a wheel, `next` turns to the following combination.
///
///     var choices = Choices()
///     while choices.next() {
///         let isDisabled = choices.choose(from: [false, true])
///         …
///     }
///
/// The code between two calls of `next` must choose the same way when earlier wheels stand the same.
package struct Choices {
    private var wheels: [(position: Int, count: Int)] = []
    private var depth = 0
    private var hasStarted = false
    /// How many combinations `next` has announced.
    package private(set) var combinationCount = 0

    package init() {}

    /// Turns to the next combination; `false` when all have been seen.
    package mutating func next() -> Bool {
        if hasStarted {
            while let last = wheels.popLast() {
                if last.position + 1 < last.count {
                    wheels.append((last.position + 1, last.count))
                    break
                }
            }
            if wheels.isEmpty { return false }
        }
        hasStarted = true
        depth = 0
        combinationCount += 1
        return true
    }

    /// One of `0..<count`.
    package mutating func choose(below count: Int) -> Int {
        precondition(count > 0, "a choice needs something to choose from")
        if depth == wheels.count { wheels.append((0, count)) }
        defer { depth += 1 }
        return wheels[depth].position
    }

    /// One of `options`.
    package mutating func choose<Element>(from options: [Element]) -> Element {
        options[choose(below: options.count)]
    }

    package mutating func chooseBool() -> Bool {
        choose(below: 2) == 1
    }
}

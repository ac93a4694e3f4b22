/// An odometer over every combination of choices: each `choose` is a wheel, and `next` turns to the next combination.
///
///     var choices = Choices()
///     while choices.next() {
///         let isDisabled = choices.choose(from: [false, true])
///         …
///     }
///
/// If earlier wheels have the same positions, the code between two calls of `next` must choose in the same way.
package struct Choices {
    private var wheels: [(position: Int, count: Int)] = []
    private var depth = 0
    private var hasStarted = false
    /// Number of combinations so far.
    package private(set) var combinationCount = 0

    package init() {}

    /// Turns to the next combination. Returns `false` after the last.
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

    package mutating func choose(below count: Int) -> Int {
        precondition(count > 0, "a choice needs something to choose from")
        if depth == wheels.count { wheels.append((0, count)) }
        defer { depth += 1 }
        return wheels[depth].position
    }

    package mutating func choose<Element>(from options: [Element]) -> Element {
        options[choose(below: options.count)]
    }

    package mutating func chooseBool() -> Bool {
        choose(below: 2) == 1
    }
}

import DequeModule
import Synchronization

/// Hands elements from one thread to another, and lets the first get only a few ahead.
package final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements: Deque<Element> = []
        var isClosed = false
    }

    package let capacity: Int
    private let state = Mutex(State())
    private let hasElement = Wakeup()
    private let hasRoom = Wakeup()

    package init(capacity: Int) {
        self.capacity = capacity
    }

    /// Blocks while the queue is full. Returns false once it is closed.
    @discardableResult
    package func put(_ element: Element) -> Bool {
        while true {
            let isPut: Bool? = state.withLock { state in
                if state.isClosed { return false }
                guard state.elements.count < capacity else { return nil }
                state.elements.append(element)
                return true
            }
            if let isPut {
                hasElement.signal()
                return isPut
            }
            hasRoom.wait()
        }
    }

    /// Blocks while the queue is empty. Returns `nil` once it is also closed.
    package func take() -> Element? {
        while true {
            let (element, isOver) = state.withLock { state in (state.elements.popFirst(), state.isClosed) }
            if element != nil || isOver {
                hasRoom.signal()
                return element
            }
            hasElement.wait()
        }
    }

    /// Nothing more is put; what was put can be taken.
    package func close() {
        state.withLock { $0.isClosed = true }
        hasElement.signal()
        hasRoom.signal()
    }
}

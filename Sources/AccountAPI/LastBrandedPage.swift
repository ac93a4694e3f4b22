import AccountOperations
import NIOCore
import Synchronization

/// A page in the branding that it was last shown in. Branding seldom changes, and each request needs the entity tag.
final class LastBrandedPage: Sendable {
    typealias Page = (body: ByteBuffer, entityTag: String)

    private let last = Mutex<(branding: Branding, page: Page)?>(nil)

    /// The page in `branding`. If it is not the last one, `render` makes it.
    func page(in branding: Branding, render: () -> Page) -> Page {
        if let last = last.withLock({ $0 }), last.branding == branding { return last.page }
        // Outside the lock: two requests may render the same page.
        let page = render()
        last.withLock { $0 = (branding, page) }
        return page
    }
}

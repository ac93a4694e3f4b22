package import Hummingbird
import NIOCore

/// What is known about a request beside its bytes.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The other end of the connection: a client, or a proxy. `nil` where it has no address.
    let peer: IPAddress?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress?.ipAddress.flatMap(IPAddress.init)
    }
}

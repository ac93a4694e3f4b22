import CCurl
import Glibc

/// libcurl as it is installed.
package enum CurlLibrary {
    /// False if libcurl cannot be used. Call it before any other function of libcurl.
    package static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    package static let hasHTTP2: Bool = {
        guard isReady, let about = curl_version_info(CURLVERSION_SEVENTH) else { return false }
        return Int(about.pointee.features) & Int(CURL_VERSION_HTTP2) != 0
    }()

    /// The file with the system's authorities. `nil` if the distribution has none, but a folder.
    static let authoritiesPath: String? = {
        guard isReady, let about = curl_version_info(CURLVERSION_SEVENTH), let path = about.pointee.cainfo else {
            return nil
        }
        return access(path, R_OK) == 0 ? String(cString: path) : nil
    }()
}

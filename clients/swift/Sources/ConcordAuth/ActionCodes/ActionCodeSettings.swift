public import Foundation

/// The destination of a mailed link.
public struct ActionCodeSettings: Sendable {
    /// The page or app screen after the link, with any state of the app in its query. Its host must be an authorized
    /// domain of the project. The server returns it unchanged.
    public var url: URL?
    /// True if the app opens the link and uses the code itself. Required for sign-in links.
    public var handleCodeInApp = false
    /// The app that opens the link on Apple's systems.
    public var iOSBundleID: String?
    public private(set) var androidPackageName: String?
    public private(set) var androidInstallIfNotAvailable = false
    public private(set) var androidMinimumVersion: String?
    /// The host of the link, if the project has several.
    public var linkDomain: String?

    public init() {}

    /// Names the app that opens the link on Android.
    public mutating func setAndroidPackageName(
        _ name: String,
        installIfNotAvailable: Bool,
        minimumVersion: String?
    ) {
        androidPackageName = name
        androidInstallIfNotAvailable = installIfNotAvailable
        androidMinimumVersion = minimumVersion
    }

    var body: [String: JSONValue?] {
        [
            "continueUrl": url?.absoluteString.json,
            "canHandleCodeInApp": handleCodeInApp ? true : nil,
            "iOSBundleId": iOSBundleID?.json,
            "androidPackageName": androidPackageName?.json,
            "androidInstallApp": androidInstallIfNotAvailable ? true : nil,
            "androidMinimumVersion": androidMinimumVersion?.json,
            "linkDomain": linkDomain?.json,
        ]
    }
}

/// The app's settings for a mailed link (docs/reference/protocol.md, "Mail links"). Empty text counts as absent.
package struct EmailCodeSettings: Sendable, Hashable {
    package var continueURL: String?
    package var handlesCodeInApp = false
    package var iOSBundleID: String?
    package var iOSAppStoreID: String?
    package var androidPackageName: String?
    package var installsAndroidApp = false
    package var androidMinimumVersion: String?
    package var dynamicLinkDomain: String?
    package var linkDomain: String?

    package init() {}

    /// The first defect in the documented order; `nil` if there is none.
    package func denial(in operations: AccountOperations) -> Denial? {
        emailCodeDenial(in: operations).map(Denial.emailCode)
    }

    private func emailCodeDenial(in operations: AccountOperations) -> EmailCodeDenial? {
        let project = operations.project.settings
        if let continueURL {
            guard let url = ContinueURL(continueURL) else { return .invalidContinueURL }
            guard operations.authorizes(url) else { return .unauthorizedDomain }
        } else if self != EmailCodeSettings() {
            return .missingContinueURL
        }
        if androidPackageName == nil, installsAndroidApp || androidMinimumVersion != nil {
            return .missingAndroidPackageName
        }
        if iOSBundleID == nil, iOSAppStoreID != nil { return .missingIOSBundleID }
        if let dynamicLinkDomain, !project.linkDomains.contains(dynamicLinkDomain.lowercased()) {
            return .invalidDynamicLinkDomain
        }
        if let linkDomain, !project.linkDomains.contains(linkDomain.lowercased()) { return .invalidHostingLinkDomain }
        return nil
    }
}

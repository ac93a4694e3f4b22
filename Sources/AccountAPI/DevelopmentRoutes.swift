/// The routes of development only: test suites read data with them that no client may read.
///
/// INVARIANT: constructed by the `dev` command only; `serve` has no way to reach it.
package struct DevelopmentRoutes: Sendable {
    let routes: [Route] = [
        .oobCodes,
        .oobCodesOfTenant,
        .verificationCodes,
        .verificationCodesOfTenant,
        .conflictProofs,
        .notices,
        .inboxMessages,
        .clearInbox,
        .inboxMail,
        .signInForecasts,
        .emulatorAction,
        .emulator,
        .emulatorConfig,
        .changeEmulatorConfig,
        .deleteAllAccounts,
        .brandingPreview,
        .brandingPreviewMail,
        // The next one goes here.
    ]

    package init() {}
}

import IdentityProviders
import Logging

/// The checked configuration of a serving process. No later code reads the environment.
struct ServeConfiguration: Sendable {
    let listen: ListenConfiguration
    let database: DatabaseConfiguration
    let limits: LimitsConfiguration
    let purge: PurgeConfiguration
    let keys: KeysConfiguration
    let tokens: TokensConfiguration
    let providers: ProvidersConfiguration
    let messages: MessagesConfiguration
    let recaptcha: RecaptchaConfiguration?
    let assessments: AssessmentConfiguration?
    let applePush: ApplePushConfiguration
    /// `nil` if there is no relay.
    let mail: MailConfiguration?
    let log: LogConfiguration
    /// `nil` if nothing is exported.
    let telemetry: TelemetryConfiguration?
    /// True for a command on the database of a development server. `concord serve` ignores it.
    let isBesideDevelopment: Bool
}

extension ServeConfiguration {
    /// For a process that serves: a database and at least one key-encryption key are required.
    /// - Throws: all mistakes, also in overridden settings.
    init(_ sources: ConfigurationSources) throws(ConfigurationMistakes) {
        let reading = Reading(sources, requiresKeys: true)
        guard let database = reading.database, let keys = reading.keys else { throw reading.failure }
        try reading.finish()
        self.init(
            listen: reading.listen,
            database: database,
            limits: reading.limits,
            purge: reading.purge,
            keys: keys,
            tokens: reading.tokens,
            providers: reading.providers,
            messages: reading.messages,
            recaptcha: reading.recaptcha,
            assessments: reading.assessments,
            applePush: reading.applePush,
            mail: reading.mail,
            log: reading.log,
            telemetry: reading.telemetry,
            isBesideDevelopment: sources.isBesideDevelopment
        )
    }
}

extension DatabaseConfiguration {
    /// For a process that needs only the database. All other settings are checked too, but keys may be absent.
    /// - Throws: all mistakes.
    init(_ sources: ConfigurationSources) throws(ConfigurationMistakes) {
        let reading = Reading(sources, requiresKeys: false)
        guard let database = reading.database else { throw reading.failure }
        try reading.finish()
        self = database
    }
}

extension ListenConfiguration {
    /// For a process that asks a server on this machine. The settings of the server's other parts are not checked.
    /// - Throws: the mistakes in the sources and in the `listen` keys.
    init(_ sources: ConfigurationSources) throws(ConfigurationMistakes) {
        var reader = ConfigurationReader(sources)
        self.init(reading: &reader)
        guard reader.mistakes.isEmpty else { throw ConfigurationMistakes(all: reader.mistakes) }
    }
}

/// The configuration of a command about the outbox.
struct OutboxConfiguration: Sendable {
    let database: DatabaseConfiguration
    /// `nil` if there is no key. Then the command opens no sealed value.
    let keys: KeysConfiguration?

    /// Every other setting is checked all the same.
    /// - Throws: every mistake there is.
    init(_ sources: ConfigurationSources) throws(ConfigurationMistakes) {
        let reading = Reading(sources, requiresKeys: false)
        guard let database = reading.database else { throw reading.failure }
        try reading.finish()
        self.database = database
        keys = reading.keys
    }
}

/// The configuration of an audit: the database, and the settings that decide if users can sign in with a provider.
struct AuditConfiguration: Sendable {
    let database: DatabaseConfiguration
    let limits: LimitsConfiguration
    let providers: ProvidersConfiguration
    let isBesideDevelopment: Bool

    /// Every other setting is checked all the same.
    /// - Throws: every mistake there is.
    init(_ sources: ConfigurationSources) throws(ConfigurationMistakes) {
        let reading = Reading(sources, requiresKeys: false)
        guard let database = reading.database else { throw reading.failure }
        try reading.finish()
        self.database = database
        limits = reading.limits
        providers = reading.providers
        isBesideDevelopment = sources.isBesideDevelopment
    }
}

extension AuditConfiguration {
    /// The providers with which users can sign in, as on the servers of this database.
    var providerRegistry: ProviderRegistry {
        ProviderRegistry(
            providers,
            limits,
            logger: makeLogger(LogConfiguration(level: .warning, format: .text)),
            isBesideDevelopment: isBesideDevelopment
        )
    }
}

/// The configuration of `concord doctor`: every part that can be read, and all mistakes.
struct DoctorConfiguration: Sendable {
    let listen: ListenConfiguration
    /// `nil` if there is no usable URL.
    let database: DatabaseConfiguration?
    let limits: LimitsConfiguration
    let purge: PurgeConfiguration
    /// `nil` if there is no usable key.
    let keys: KeysConfiguration?
    let providers: ProvidersConfiguration
    let messages: MessagesConfiguration
    let applePush: ApplePushConfiguration
    let mail: MailConfiguration?
    let mistakes: ConfigurationMistakes

    init(_ sources: ConfigurationSources) {
        let reading = Reading(sources, requiresKeys: true)
        listen = reading.listen
        database = reading.database
        limits = reading.limits
        purge = reading.purge
        keys = reading.keys
        providers = reading.providers
        messages = reading.messages
        applePush = reading.applePush
        mail = reading.mail
        mistakes = reading.failure
    }
}

/// Reads every setting.
private struct Reading {
    var reader: ConfigurationReader
    let listen: ListenConfiguration
    let database: DatabaseConfiguration?
    let limits: LimitsConfiguration
    let purge: PurgeConfiguration
    let keys: KeysConfiguration?
    let tokens: TokensConfiguration
    let providers: ProvidersConfiguration
    let messages: MessagesConfiguration
    let recaptcha: RecaptchaConfiguration?
    let assessments: AssessmentConfiguration?
    let applePush: ApplePushConfiguration
    let mail: MailConfiguration?
    let log: LogConfiguration
    let telemetry: TelemetryConfiguration?

    init(_ sources: ConfigurationSources, requiresKeys: Bool) {
        var reader = ConfigurationReader(sources)
        listen = ListenConfiguration(reading: &reader)
        database = DatabaseConfiguration.read(&reader)
        limits = LimitsConfiguration(reading: &reader)
        purge = PurgeConfiguration(reading: &reader)
        keys = KeysConfiguration.read(&reader, isRequired: requiresKeys)
        tokens = TokensConfiguration(reading: &reader)
        providers = ProvidersConfiguration(reading: &reader)
        messages = MessagesConfiguration(reading: &reader)
        recaptcha = RecaptchaConfiguration.read(&reader)
        assessments = AssessmentConfiguration.read(&reader)
        applePush = ApplePushConfiguration(reading: &reader)
        mail = MailConfiguration.read(&reader)
        log = LogConfiguration(reading: &reader)
        telemetry = TelemetryConfiguration.read(&reader)
        self.reader = reader
    }

    var failure: ConfigurationMistakes { ConfigurationMistakes(all: reader.mistakes) }

    func finish() throws(ConfigurationMistakes) {
        guard reader.mistakes.isEmpty else { throw failure }
    }
}

extension ConfigurationMistakes {
    /// The mistakes in the written settings, without missing ones; possibly none.
    static func inSettings(of sources: ConfigurationSources) -> Self {
        Self(all: Reading(sources, requiresKeys: false).reader.mistakes.filter { $0.origin != nil })
    }
}

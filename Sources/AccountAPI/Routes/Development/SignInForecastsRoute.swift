import AccountLinking
import AccountOperations
import HTTPTypes
import IdentityProviders
import JSON

extension Route {
    /// The outcome of a simulated sign-in, for each statement that its provider can make about the address. The consent
    /// page shows it before the sign-in. Development only.
    static let signInForecasts = Route(.post, FakeProvider.pagePath + "/forecasts", access: .anyone) { request in
        guard let name = try request.body.nonEmptyString("providerId"), let provider = ProviderID(name) else {
            throw APIError.code(.invalidProviderID)
        }
        guard let claims = request.body.json["claims"]?.object else {
            throw APIError.invalidValue(at: "claims", expected: "an object")
        }
        var forecasts: [(flag: String, forecast: SignInForecast)] = []
        for (flag, isVerified) in [("true", JSONValue.bool(true)), ("false", .bool(false)), ("absent", nil)] {
            var claims = claims
            claims["email_verified"] = isVerified
            let credential = ProviderCredential(provider: provider, idToken: JSONValue.object(claims).text)
            let forecast = try await request.operations.forecastSignIn(with: credential, tenant: request.tenant)
            forecasts.append((flag, forecast))
        }
        return .object { writer in
            writer.field("provider", methodName(provider.rawValue, in: "en"))
            writer.field("forecasts") { writer in
                for (flag, forecast) in forecasts {
                    writer.field(flag) { writer in
                        writer.field("address", forecast.address.rawValue)
                        writer.field("ending", forecast.ending.rawValue)
                        writer.field("rule", forecast.rule.rawValue)
                        writer.field("text", forecast.rule.text.sentence)
                    }
                }
            }
        }
    }
}

import Testing

@testable import IdentityProviders

/// Signatures of OAuth 1.0a, against the published examples.
struct OAuth1Tests {
    private func protocolParameters(
        _ client: String,
        token: String?,
        _ timestamp: String,
        _ nonce: String,
        _ others: [OAuth1.Parameter] = []
    ) -> [OAuth1.Parameter] {
        let token: [OAuth1.Parameter] = token.map { [("oauth_token", $0)] } ?? []
        return token + others + [
            ("oauth_consumer_key", client), ("oauth_signature_method", "HMAC-SHA1"), ("oauth_timestamp", timestamp),
            ("oauth_nonce", nonce),
        ]
    }

    // MARK: RFC 5849

    /// §3.4.1.1, §3.4.1.3 and, for the signature, erratum 2550.
    @Test func `a base string holds method, address and every parameter, as in the example of RFC 5849`() {
        let request = ProviderRequest(
            .post,
            "http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b",
            fields: [.init(name: "content-type", value: "application/x-www-form-urlencoded")],
            body: Array("c2&a3=2+q".utf8)
        )
        let text = OAuth1.baseString(
            of: request,
            with: protocolParameters("9djdj82h48djs9d2", token: "kkk9d7dh3k39sjv7", "137131201", "7d8f3e4a")
        )
        #expect(
            text == """
                POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c\
                %2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_\
                method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7
                """
        )
        let signature = OAuth1.signature(of: text, client: "j49sk3j29djd", token: "dh893hdasih9")
        #expect(signature == "r6/TJjbCOr97/+UU0NsvSne7s5g=")
    }

    struct Example: Sendable, CustomTestStringConvertible {
        let request: ProviderRequest
        var token: String?
        var tokenSecret: String?
        let timestamp: String
        let nonce: String
        var others: [String: String] = [:]
        let signature: String
        var testDescription: String { nonce }
    }

    /// RFC 5849 §1.2, and appendix A.5 of OAuth Core 1.0.
    @Test(arguments: [
        Example(
            request: ProviderRequest(.post, "https://photos.example.net/initiate"),
            timestamp: "137131200",
            nonce: "wIjqoS",
            others: ["oauth_callback": "http://printer.example.com/ready"],
            signature: "74KNZJeDHnMBp0EMJ9ZHt/XKycU="
        ),
        Example(
            request: ProviderRequest(.post, "https://photos.example.net/token"),
            token: "hh5s93j4hdidpola",
            tokenSecret: "hdhd0244k9j7ao03",
            timestamp: "137131201",
            nonce: "walatlh",
            others: ["oauth_verifier": "hfdp7dh39dks9884"],
            signature: "gKgrFCywp7rO0OXSjdot/IHF7IU="
        ),
        Example(
            request: ProviderRequest(.get, "http://photos.example.net/photos?file=vacation.jpg&size=original"),
            token: "nnch734d00sl2jdk",
            tokenSecret: "pfkkdhi9sl3r4s00",
            timestamp: "137131202",
            nonce: "chapoH",
            signature: "MdpQcU8iPSUjWoN/UDMsK2sui9I="
        ),
        Example(
            request: ProviderRequest(.get, "http://photos.example.net/photos?file=vacation.jpg&size=original"),
            token: "nnch734d00sl2jdk",
            tokenSecret: "pfkkdhi9sl3r4s00",
            timestamp: "1191242096",
            nonce: "kllo9940pd9333jh",
            others: ["oauth_version": "1.0"],
            signature: "tR3+Ty81lMeYAr/Fid0kMTYa/WM="
        ),
    ])
    func `the published examples have the published signatures`(example: Example) {
        let text = OAuth1.baseString(
            of: example.request,
            with: protocolParameters(
                "dpf43f3p2l4k3l03",
                token: example.token,
                example.timestamp,
                example.nonce,
                example.others.map { ($0.key, $0.value) }
            )
        )
        let signature = OAuth1.signature(of: text, client: "kd94hf93k423kf44", token: example.tokenSecret)
        #expect(signature == example.signature)
    }

    // MARK: Twitter

    /// docs.x.com, "Creating a signature" and "Authorizing a request", with the former and the current version in the
    /// path.
    @Test(arguments: [
        ("1", "tnnArxj06cWHq44gCs1OSKk%2FjLY%3D"), ("1.1", "hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D"),
    ])
    func `Twitter's example has the published signature`(version: String, signature: String) {
        let signer = OAuth1(
            client: .init(
                identifier: "xvz1evFS4wEEPTGEFPHBog",
                secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw"
            ),
            token: .init(
                identifier: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
                secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE"
            ),
            nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
            secondsSinceEpoch: 1_318_622_958
        )
        let request = ProviderRequest.form(
            [("status", "Hello Ladies + Gentlemen, a signed OAuth request!")],
            to: "https://api.twitter.com/\(version)/statuses/update.json?include_entities=true"
        )
        let field = signer.authorizing(request).fields.first { $0.name == "authorization" }
        #expect(
            field?.value == """
                OAuth oauth_consumer_key="xvz1evFS4wEEPTGEFPHBog", \
                oauth_nonce="kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", oauth_signature="\(signature)", \
                oauth_signature_method="HMAC-SHA1", oauth_timestamp="1318622958", \
                oauth_token="370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb", oauth_version="1.0"
                """
        )
    }

    // MARK: Addresses

    /// RFC 5849 §3.4.1.2.
    @Test(arguments: [
        ("http://EXAMPLE.COM:80/r%20v/X?id=123", "http://example.com/r%20v/X"),
        ("https://www.example.net:8080/?q=1", "https://www.example.net:8080/"),
        ("https://example.net:443", "https://example.net/"), ("HTTPS://example.net:80/#f", "https://example.net:80/"),
        ("http://[::1]:443/a//b", "http://[::1]:443/a//b"),
    ])
    func `an address is signed without default port, query and fragment`(address: String, expected: String) {
        let text = OAuth1.baseString(of: ProviderRequest(.get, address), with: [])
        let signed = text.split(separator: "&", omittingEmptySubsequences: false)[1]
        #expect(
            signed.replacing("%3A", with: ":").replacing("%2F", with: "/").replacing("%25", with: "%")
                .replacing("%5B", with: "[").replacing("%5D", with: "]") == expected
        )
    }

    @Test func `only the body of a form is signed`() {
        let json = ProviderRequest(
            .post,
            "https://example.net/",
            fields: [.init(name: "content-type", value: "application/json")],
            body: Array("a=1".utf8)
        )
        #expect(OAuth1.baseString(of: json, with: []) == "POST&https%3A%2F%2Fexample.net%2F&")
    }
}

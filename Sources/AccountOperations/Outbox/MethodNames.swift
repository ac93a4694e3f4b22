import AccountLinking

/// The name of a sign-in method for people, as on the pages (`Pages/strings.json`; a test compares).
package func methodName(_ method: String, in language: String) -> String {
    methodNames[language]?[method] ?? methodNames["en"]?[method]
        ?? ProviderID(method).flatMap { KnownProvider.byID[$0]?.displayName }
        ?? method.replacing(/^(oidc|saml)\./, with: "")
}

let methodNames = [
    "en": ["password": "Password", "emailLink": "Email link", "phone": "Phone number"],
    "zh-TW": ["password": "密碼", "emailLink": "電子郵件連結", "phone": "電話號碼"],
    "th": ["password": "รหัสผ่าน", "emailLink": "ลิงก์ทางอีเมล", "phone": "หมายเลขโทรศัพท์"],
]

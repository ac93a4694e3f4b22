/// A sign-in method as people call it, as on the page for people (`Pages/strings.json`; a test compares).
package func methodName(_ method: String, in language: String) -> String {
    methodNames[language]?[method] ?? methodNames["en"]?[method] ?? providerNames[method]
        ?? method.replacing(/^(oidc|saml)\./, with: "")
}

let methodNames = [
    "en": ["password": "Password", "emailLink": "Link by email", "phone": "Phone number"],
    "zh-TW": ["password": "密碼", "emailLink": "電子郵件連結", "phone": "電話號碼"],
    "th": ["password": "รหัสผ่าน", "emailLink": "ลิงก์ทางอีเมล", "phone": "หมายเลขโทรศัพท์"],
]

let providerNames = [
    "apple.com": "Apple", "facebook.com": "Facebook", "gc.apple.com": "Game Center", "github.com": "GitHub",
    "google.com": "Google", "linkedin.com": "LinkedIn", "microsoft.com": "Microsoft",
    "playgames.google.com": "Google Play Games", "twitter.com": "X (Twitter)", "yahoo.com": "Yahoo",
]

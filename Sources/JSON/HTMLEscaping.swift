/// Text in HTML, between tags and in quoted attributes.
package enum HTMLEscaping {
    /// Escapes `&`, `<`, `>` and both quotation marks. Works on scalars: a quotation mark with a combining accent is one
    /// character, and still a quotation mark in HTML.
    package static func escape(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

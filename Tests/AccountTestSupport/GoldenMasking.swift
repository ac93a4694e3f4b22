/// Masks values that differ between runs, by their shape: ids, tokens, key names and key material.
package func masked(_ json: String) -> String {
    json.replacing(#/"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86,}"/#) { _ in "\"<ID token>\"" }
        .replacing(#/"[A-Za-z0-9_-]{100,}"/#) { _ in "\"<refresh token>\"" }
        .replacing(#/"[A-Za-z0-9]{28}"/#) { _ in "\"<id>\"" }
        .replacing(#/"[A-Za-z0-9_-]{43}"/#) { _ in "\"<coordinate>\"" }
        .replacing(#/"[0-9a-f]{40}"/#) { _ in "\"<kid>\"" }
        .replacing(#/"-----BEGIN CERTIFICATE-----[^"]*"/#) { _ in "\"<certificate>\"" }
}

/// Compact JSON with one line for each member and element, in the original order.
package func indented(_ json: String) -> String {
    var text = ""
    var depth = 0
    var isInString = false
    var isEscaped = false
    func newLine() { text += "\n" + String(repeating: "  ", count: depth) }
    for character in json {
        if isInString {
            text.append(character)
            if isEscaped {
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isInString = false
            }
            continue
        }
        switch character {
        case "\"":
            isInString = true
            text.append(character)
        case "{", "[":
            depth += 1
            text.append(character)
            newLine()
        case "}", "]":
            depth -= 1
            newLine()
            text.append(character)
        case ",":
            text.append(character)
            newLine()
        case ":": text += ": "
        default: text.append(character)
        }
    }
    return text
}

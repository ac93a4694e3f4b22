import AccountTestSupport
import Foundation
import JSON
import Testing

extension Browser {
    /// The defects that keep people from reading or using the page: WCAG 2.2's 1.4.3 (contrast), 1.4.10 (reflow), 2.5.5
    /// (targets), 3.1.1 (language), a wrong heading, and an unfilled string.
    func defects() async throws -> [String] {
        try await value(Self.measurement).array?.compactMap(\.string) ?? ["nothing was measured"]
    }

    /// Returns the rules of axe-core that the page breaks, each with its first element.
    func brokenRules() async throws -> [String] {
        if try await value("typeof axe") != "object" { try await run(try Self.axe.get()) }
        let rules = try await value(
            """
            axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`))
            """
        )
        return rules.array?.compactMap(\.string) ?? ["nothing was measured"]
    }

    /// The script that `scripts/test` installs.
    private static let axe = Result {
        let library = AccountTestSupport.Repository.root + "/.build/axe/lib"
        let python = try #require(try FileManager.default.contentsOfDirectory(atPath: library).first)
        let script = "\(library)/\(python)/site-packages/axe_playwright_python/axe.min.js"
        return try String(contentsOfFile: script, encoding: .utf8)
    }

    private static let measurement = #"""
        (() => {
          const defects = [];
          const width = document.documentElement.clientWidth;
          const numbers = (color) => color.match(/[\d.]+/g).map(Number);
          const luminance = (color) => numbers(color).slice(0, 3)
            .map((value) => value / 255)
            .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
            .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
          const isClear = (color) => numbers(color)[3] === 0;
          const backdrop = (element) => {
            const color = getComputedStyle(element).backgroundColor;
            return isClear(color) && element.parentElement ? backdrop(element.parentElement) : color;
          };
          const contrast = (one, other) => {
            const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
            return (light + 0.05) / (dark + 0.05);
          };
          if (document.documentElement.scrollWidth > width) defects.push("the page scrolls sideways");
          if (document.querySelectorAll("h1").length !== 1) defects.push("not one heading");
          if (!document.title.startsWith(document.querySelector("h1").textContent)) defects.push("title");
          for (const element of document.querySelectorAll("body *")) {
            if (!element.checkVisibility({ visibilityProperty: true })) continue;
            const box = element.getBoundingClientRect();
            const name = `${element.tagName} ${element.textContent.trim().slice(0, 30)}`;
            if (element.matches("button, input, a") && (box.width < 44 || box.height < 44)) defects.push(`small: ${name}`);
            const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("");
            if (!text.trim() && !element.matches("input")) continue;
            if (box.left < 0 || box.right > width) defects.push(`cut off: ${name}`);
            if (/[{}]|undefined|null/.test(text)) defects.push(`not filled in: ${name}`);
            const ratio = contrast(getComputedStyle(element).color, backdrop(element));
            if (ratio < 4.5) defects.push(`contrast ${ratio.toFixed(2)}: ${name}`);
          }
          return defects;
        })()
        """#
}

/// Hosts whose owners assign names below them to the public: hosting, functions, tunnels, dynamic DNS.
///
/// Names there are first come, first served. Once their holder releases them, another person can register them. Google
/// assigns `PROJECT-ID.web.app` and `PROJECT-ID.firebaseapp.com` to the owner of the id at Google; a project id of
/// Concord reserves nothing there.
package enum SharedHosts {
    /// The shared host that equals or contains `host`; `nil` for other hosts.
    package static func sharedHost(of host: String) -> String? {
        var rest = host.lowercased()[...]
        while !rest.isEmpty {
            if all.contains(String(rest)) { return String(rest) }
            guard let dot = rest.firstIndex(of: ".") else { return nil }
            rest = rest[rest.index(after: dot)...]
        }
        return nil
    }

    /// Every shared host. Each entry covers itself and all names below it.
    package static let all: Set<String> = [
        // Google
        "web.app", "firebaseapp.com", "appspot.com", "run.app", "cloudfunctions.net", "blogspot.com", "hosted.app",
        "cloudworkstations.dev",
        // Amazon
        "amazonaws.com", "cloudfront.net", "amplifyapp.com", "elasticbeanstalk.com", "awsapprunner.com", "on.aws",
        // Microsoft
        "azurewebsites.net", "azurestaticapps.net", "azureedge.net", "azurefd.net", "azurecontainerapps.io",
        "azure-api.net", "cloudapp.net", "cloudapp.azure.com", "trafficmanager.net", "windows.net", "github.io",
        "github.dev", "githubpreview.dev", "devtunnels.ms",
        // Hosting of pages and functions
        "vercel.app", "now.sh", "netlify.app", "netlify.com", "pages.dev", "workers.dev", "r2.dev", "herokuapp.com",
        "onrender.com", "fly.dev", "up.railway.app", "koyeb.app", "northflank.app", "zeabur.app", "surge.sh",
        "deno.dev", "deno.net", "edgeone.app", "gitlab.io", "bitbucket.io", "readthedocs.io", "expo.app",
        "ondigitalocean.app",
        "digitaloceanspaces.com", "b-cdn.net", "scw.cloud", "hf.space", "streamlit.app", "pythonanywhere.com",
        "supabase.co", "convex.site", "val.run",
        // Editors that serve their users' code, and site builders
        "glitch.me", "repl.co", "replit.app", "replit.dev", "codesandbox.io", "csb.app", "stackblitz.io",
        "webcontainer.io", "gitpod.io", "lovable.app", "bolt.host", "bubbleapps.io", "framer.app", "framer.website",
        "webflow.io", "wixsite.com", "weebly.com", "wordpress.com", "myshopify.com", "squarespace.com", "carrd.co",
        // Tunnels to a developer's machine
        "ngrok.io", "ngrok.app", "ngrok.dev", "ngrok-free.app", "ngrok-free.dev", "trycloudflare.com", "loca.lt",
        "localtunnel.me", "serveo.net", "localhost.run", "lhr.life", "pinggy.link", "tunnelmole.net",
        // Names that resolve to any address, and dynamic DNS
        "nip.io", "sslip.io", "xip.io", "duckdns.org", "ddns.net", "dyndns.org", "no-ip.org",
    ]
}

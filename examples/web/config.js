// The server and the project. `concord dev` accepts any key; `concord project show` prints the key of production.
export const config = { url: "http://127.0.0.1:9099", apiKey: "any" };

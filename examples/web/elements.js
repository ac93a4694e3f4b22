// The app of app.js with custom elements.

import "./concord-elements.js";

const signIn = document.querySelector("concord-signin");
const account = document.querySelector("concord-account");

function show(isSignedIn) {
  signIn.hidden = isSignedIn;
  account.hidden = !isSignedIn;
}

addEventListener("concord-session", () => show(true));
addEventListener("concord-signed-out", () => show(false));

for (const button of document.querySelectorAll("footer button")) {
  button.onclick = () => {
    document.documentElement.lang = button.lang;
  };
}

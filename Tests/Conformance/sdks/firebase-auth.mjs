// Stands for the part of `firebase/auth` that the guides use, because Debian and PyPI have no package of the SDK.
//
// Names and parameters are those of the SDK's public API report (`common/api-review/auth.api.md`, release 12.19). The
// functions send the SDK's requests to the server, and read its answers as the SDK does. A guide that imports another
// name does not run.

const auths = new Map();

export function getAuth(app) {
  const auth = {
    app,
    currentUser: null,
    settings: { appVerificationDisabledForTesting: false },
    authStateReady: async () => {},
  };
  if (!auths.has(app)) auths.set(app, auth);
  return auths.get(app);
}

export function connectAuthEmulator(auth, url, options) {
  if (!/^https?:\/\//.test(url)) throw new FirebaseError("auth/invalid-emulator-scheme");
  auth.service = new URL(url).origin + "/identitytoolkit.googleapis.com/v1/accounts:";
  auth.settings.appVerificationDisabledForTesting = true;
}

class FirebaseError extends Error {
  constructor(code, customData = {}) {
    super(code);
    this.code = code;
    this.customData = customData;
  }
}

async function call(auth, method, body) {
  const response = await fetch(`${auth.service}${method}?key=${auth.app.options.apiKey}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ returnSecureToken: true, ...body }),
  });
  const answer = await response.json();
  if ("needConfirmation" in answer) {
    const customData = { email: answer.email, _tokenResponse: answer };
    throw new FirebaseError("auth/account-exists-with-different-credential", customData);
  }
  if (!response.ok) throw new FirebaseError(`auth/${answer.error.message}`);
  return answer;
}

async function signedIn(auth, answer) {
  const { users } = await call(auth, "lookup", { idToken: answer.idToken });
  const providerData = (users[0].providerUserInfo ?? []).map(({ providerId }) => ({ providerId }));
  const { idToken } = answer;
  auth.currentUser = { auth, uid: users[0].localId, providerData, idToken, getIdToken: async () => idToken };
  return { user: auth.currentUser };
}

export async function createUserWithEmailAndPassword(auth, email, password) {
  return signedIn(auth, await call(auth, "signUp", { email, password }));
}

export async function signInWithEmailAndPassword(auth, email, password) {
  return signedIn(auth, await call(auth, "signInWithPassword", { email, password }));
}

export async function signInWithCustomToken(auth, customToken) {
  return signedIn(auth, await call(auth, "signInWithCustomToken", { token: customToken }));
}

export async function signOut(auth) {
  auth.currentUser = null;
}

export async function signInWithCredential(auth, credential) {
  return signedIn(auth, await call(auth, "signInWithIdp", credential.request()));
}

export async function linkWithCredential(user, credential) {
  const request = { ...credential.request(), idToken: user.idToken };
  return signedIn(user.auth, await call(user.auth, "signInWithIdp", request));
}

class OAuthCredential {
  constructor(fields) {
    Object.assign(this, fields);
  }

  toJSON() {
    return { ...this };
  }

  request() {
    if (this.pendingToken) return { requestUri: "http://localhost", pendingToken: this.pendingToken };
    const postBody = new URLSearchParams({ providerId: this.providerId });
    if (this.idToken) postBody.set("id_token", this.idToken);
    if (this.accessToken) postBody.set("access_token", this.accessToken);
    return { requestUri: "http://localhost", postBody: String(postBody) };
  }
}

export class OAuthProvider {
  constructor(providerId) {
    this.providerId = providerId;
  }

  credential({ idToken, accessToken }) {
    return new OAuthCredential({ providerId: this.providerId, signInMethod: this.providerId, idToken, accessToken });
  }

  static credentialFromError(error) {
    const answer = error.customData?._tokenResponse;
    if (!answer?.oauthIdToken && !answer?.oauthAccessToken) return null;
    return new OAuthCredential({
      providerId: answer.providerId,
      signInMethod: answer.providerId,
      idToken: answer.oauthIdToken,
      accessToken: answer.oauthAccessToken,
      pendingToken: answer.pendingToken,
    });
  }

  static credentialFromJSON(json) {
    return new OAuthCredential(typeof json === "string" ? JSON.parse(json) : json);
  }
}

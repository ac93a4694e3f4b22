// The part of `firebase/app` that the guides use. `firebase-auth.mjs` says why.

export function initializeApp(options) {
  return { options };
}

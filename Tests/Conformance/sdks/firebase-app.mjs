// The part of `firebase/app` that the guides use. `firebase-auth.mjs` says why.

const apps = new Map();

export function initializeApp(options, name = "[DEFAULT]") {
  if (!apps.has(name)) apps.set(name, { options, name });
  return apps.get(name);
}

// Verifies a token as the Admin SDK for Node does behind its emulator setting.
//
// usage: node verify_token.js ISSUER PROJECT <TOKEN
//
// Prints `{"claims": …}`, or `{"error": …}` with the message of the failed check.
//
// Debian has no package of the SDK or of `jsonwebtoken`, which the SDK calls, so this file repeats the checks of both.
// If Node finds the package `jsonwebtoken` (`npm install`, `NODE_PATH`), this script also calls it, and fails unless
// both results agree.
'use strict';

const fs = require('node:fs');

/** The part of `jsonwebtoken` that the SDK uses for an emulator: a complete `decode`, and `verify` without a key. */
const rules = {
  decode(token) {
    if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) return null;
    const [header, payload, signature] = token.split('.');
    const parsed = (part) => JSON.parse(Buffer.from(part, 'base64url').toString());
    return { header: parsed(header), payload: parsed(payload), signature };
  },

  verify(token, key, options, done) {
    if (token.split('.').length !== 3) return done(new Error('jwt malformed'));
    const decoded = rules.decode(token);
    if (!decoded) return done(new Error('invalid token'));
    const { header, payload, signature } = decoded;
    if (signature !== '' && !key) return done(new Error('secret or public key must be provided'));
    if (!options.algorithms.includes(header.alg)) return done(new Error('invalid algorithm'));
    const now = Math.floor(Date.now() / 1000);
    if (payload.nbf !== undefined && payload.nbf > now) return done(new Error('jwt not active'));
    if (payload.exp !== undefined && payload.exp <= now) return done(new Error('jwt expired'));
    return done(null, payload);
  },
};

/** Returns the SDK's error for the claims. It does not check key id and algorithm of an emulator's token. */
function complaint(payload, issuer, project) {
  if (payload.aud !== project) return 'incorrect "aud" (audience) claim';
  if (payload.iss !== issuer + project) return 'incorrect "iss" (issuer) claim';
  if (typeof payload.sub !== 'string') return 'no "sub" (subject) claim';
  if (payload.sub === '') return 'empty "sub" (subject) claim';
  if (payload.sub.length > 128) return '"sub" (subject) claim longer than 128 characters';
  return undefined;
}

/** Does the steps of the SDK in its order: decode, check the claims, verify. */
function verified(library, token, issuer, project) {
  const decoded = library.decode(token, { complete: true });
  if (!decoded) return { error: 'Decoding token failed.' };
  const error = complaint(decoded.payload, issuer, project);
  if (error) return { error };
  let answer;
  library.verify(token, undefined, { algorithms: ['none'] }, (failure) => {
    answer = failure ? { error: failure.message } : { claims: decoded.payload };
  });
  return answer;
}

function installed(name) {
  try {
    return require(name);
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

const [issuer, project] = process.argv.slice(2);
const token = fs.readFileSync(0, 'utf8').trim();
const answer = JSON.stringify(verified(rules, token, issuer, project));
const library = installed('jsonwebtoken');
if (library) {
  const theirs = JSON.stringify(verified(library, token, issuer, project));
  if (theirs !== answer) throw new Error(`jsonwebtoken says ${theirs}, the rules say ${answer}`);
}
console.log(answer);

// The words of the account page in the chosen language: strings, names of methods, dates and lists.

import { app, rules, spaced } from "./common.js";

export class Texts {
  #names;
  #strings;

  // - names: display names of known providers, by id.
  // - strings: the strings of each language, by name.
  constructor(names, strings, language) {
    this.#names = names;
    this.#strings = strings;
    this.language = language;
    // The methods of the project, of which some have a name there.
    this.methods = [];
  }

  get #own() {
    return this.#strings[this.language];
  }

  has(name) {
    return name in this.#strings.en;
  }

  // The string `name` with its placeholders filled by the functions `places`. The name itself may have placeholders.
  filled(name, places) {
    const fill = (pattern) => this.#beginning(pattern).replace(/\{(\w+)\}/g, (_, place) => places[place]());
    return apart(fill(spaced(this.#own[fill(name)], this.language)));
  }

  // The pattern with "The app" at the beginnings of its sentences, if the app has no name.
  #beginning(pattern) {
    const words = this.#own.app;
    if (app) return pattern;
    return pattern.replace(/(?<=^|[.!?] )\{app\}/g, words.charAt(0).toUpperCase() + words.slice(1));
  }

  get app() {
    return app ?? this.#own.app;
  }

  // The display name of a sign-in method.
  nameOf(method) {
    const registered = this.methods.find((one) => one.method === method)?.displayName;
    const own = method === "custom" ? this.app : this.#own[`method.${method}`];
    return own ?? registered ?? this.#names[method] ?? method.replace(/^(oidc|saml)\./, "");
  }

  // The method within a sentence.
  phraseOf(method) {
    return (method === "custom" ? null : this.#own[`phrase.${method}`]) ?? this.nameOf(method);
  }

  // The name of an account that people know.
  accountName(account) {
    return account?.email ?? account?.phoneNumber ?? account?.displayName ?? this.#own["account.unnamed"];
  }

  list(words) {
    return new Intl.ListFormat(this.language, { type: "conjunction" }).format(words);
  }

  number(value) {
    return new Intl.NumberFormat(this.language).format(value);
  }

  date(instant) {
    return this.#time(instant, { dateStyle: "medium" });
  }

  moment(instant) {
    return this.#time(instant, { dateStyle: "medium", timeStyle: "short" });
  }

  #time(instant, style) {
    return new Intl.DateTimeFormat(this.language, style).format(new Date(instant));
  }

  // The requirements for a new password, from the policy of the project.
  rules(policy) {
    return rules(policy, this.#own, this.language);
  }
}

// Puts spaces around Latin words, such as the names of providers, in languages that write none between words.
function apart(sentence) {
  return sentence.replace(/(?<=[\p{sc=Han}\p{sc=Thai}])(?=[A-Za-z])|(?<=[A-Za-z])(?=[\p{sc=Han}\p{sc=Thai}])/gu, " ");
}

// A merge of the person's account with another one, to which the person has signed in too.

import { randomText } from "./service.js";

// Milliseconds between two reads of a merge that waits for the app.
const wait = 2_000;

export class Merge {
  #own;

  // `own` returns the session and the account of the page, which a newer sign-in replaces.
  constructor(own, session, user) {
    this.#own = own;
    // The other account.
    this.session = session;
    this.user = user;
    this.keepsOther = false;
    // The side whose value is kept, by field.
    this.choices = {};
    this.preview = null;
  }

  get survivor() {
    return this.keepsOther ? this : this.#own();
  }

  get absorbed() {
    return this.keepsOther ? this.#own() : this;
  }

  side(name) {
    return name === "survivor" ? this.survivor : this.absorbed;
  }

  // Keeps the other one of the two accounts. Choices name sides, so they are void.
  swap() {
    this.keepsOther = !this.keepsOther;
    this.choices = {};
  }

  // True if a field that both accounts have needs a choice.
  get isOpen() {
    return this.preview.undecided.some((field) => !this.choices[field]);
  }

  async #send(body, options = {}) {
    const absorbedIdToken = await this.absorbed.session.idToken();
    return this.survivor.session.call("POST", "concord/v1/merges", {
      body: { absorbedIdToken, choices: this.choices, ...body }, ...options,
    });
  }

  // Reads what the merge would change.
  async readPreview() {
    this.preview = await this.#send({ validateOnly: true });
  }

  // Chooses the value of one side, and reads what follows. Returns false if a later choice came first.
  async choose(field, side) {
    const choices = { ...this.choices, [field]: side };
    this.choices = choices;
    await this.readPreview();
    return this.choices === choices;
  }

  // Merges, and returns the merge once it has ended. `onWait` is called if the app is asked first; the merge is still
  // prepared if the app did not answer in time.
  async commit(onWait) {
    let merge = await this.#send({}, { key: randomText() });
    if (merge.state === "prepared") onWait();
    while (merge.state === "prepared" && Date.parse(merge.answerUntil) > Date.now()) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      merge = await this.survivor.session.call("GET", `concord/v1/merges/${merge.id}`);
    }
    return merge;
  }
}

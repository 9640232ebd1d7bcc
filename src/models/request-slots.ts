/**
 * Places for requests that run at the same time. Urgent ones go first, and where there are several places one is kept
 * for them: long work of documents never makes a query wait for all of it.
 */
export class RequestSlots {
  readonly #max: number;
  readonly #patientMax: number;
  readonly #urgent: (() => void)[] = [];
  readonly #patient: (() => void)[] = [];
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
    this.#patientMax = Math.max(1, max - 1);
  }

  /** Resolves when there is a place; `leave` gives it back. */
  enter(urgent: boolean): Promise<void> {
    return new Promise((resolve) => {
      (urgent ? this.#urgent : this.#patient).push(resolve);
      this.#admit();
    });
  }

  leave(): void {
    this.#taken -= 1;
    this.#admit();
  }

  #admit(): void {
    for (;;) {
      const lane = this.#urgent.length > 0 ? this.#urgent : this.#patient;
      if (this.#taken >= (lane === this.#urgent ? this.#max : this.#patientMax)) return;
      const next = lane.shift();
      if (next === undefined) return;
      this.#taken += 1;
      next();
    }
  }
}

/** Lets a bounded number of things happen at a time, in the order in which they were asked for. */
export class Slots {
  readonly #max: number;
  readonly #waiting: ((granted: boolean) => void)[] = [];
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Runs `work` when there is room for it, or at once when `signal` aborts: then `work` sees that and ends. */
  async run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const granted = this.#running < this.#max ? this.#take() : await this.#turn(signal);
    try {
      return await work();
    } finally {
      if (granted) this.#giveBack();
    }
  }

  #take(): true {
    this.#running += 1;
    return true;
  }

  /** Whoever waits gets the room that became free, so that nobody slips in between. */
  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next(true);
  }

  #turn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const go = (granted: boolean) => {
        signal.removeEventListener('abort', leave);
        resolve(granted);
      };
      const leave = () => {
        const at = this.#waiting.indexOf(go);
        if (at !== -1) this.#waiting.splice(at, 1);
        resolve(false);
      };
      if (signal.aborted) return resolve(false);
      this.#waiting.push(go);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}

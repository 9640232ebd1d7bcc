/** Runs changes one after another, so that none is built on what another is about to replace. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as `change` does; a failed change holds nobody up. */
  run<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(change, change);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

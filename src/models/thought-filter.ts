const [start, end] = ['<think>', '</think>'];

/** Removes the reasoning that some models write before their answer, between `<think>` and `</think>`. */
export class ThoughtFilter {
  /** Start of the text that is not decided yet. */
  #pending = '';
  #state: 'undecided' | 'thinking' | 'answering' = 'undecided';

  /** Returns the part of the answer in the next piece of the text. */
  push(piece: string): string {
    if (this.#state === 'answering') return piece;
    this.#pending += piece;
    if (this.#state === 'undecided') {
      this.#pending = this.#pending.trimStart();
      if (this.#pending.length < start.length && start.startsWith(this.#pending)) return '';
      this.#state = this.#pending.startsWith(start) ? 'thinking' : 'answering';
    }
    if (this.#state === 'thinking') {
      const at = this.#pending.indexOf(end);
      if (at < 0) {
        // The mark may continue in the next piece.
        this.#pending = this.#pending.slice(-end.length);
        return '';
      }
      this.#pending = this.#pending.slice(at + end.length);
      this.#state = 'answering';
    }
    return this.finish();
  }

  /** Returns the rest of the answer when the text has ended. */
  finish(): string {
    const text = this.#state === 'thinking' ? '' : this.#pending;
    this.#pending = '';
    return text;
  }
}

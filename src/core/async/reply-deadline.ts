/**
 * Decides once whether the client of a change receives its reply or the error of the deadline. Work that
 * stores whether its client knows the outcome calls `meet` before it does, so that the stored state and the
 * reply cannot differ.
 */
export class ReplyDeadline {
  #state: 'pending' | 'met' | 'missed' = 'pending';

  /**
   * Called when the outcome is known. Returns false if the deadline has passed. After true it no longer
   * applies, so only short local work may follow. Idempotent.
   */
  meet(): boolean {
    if (this.#state === 'pending') this.#state = 'met';
    return this.#state === 'met';
  }

  /** Called when the time is up. Returns false if the deadline was met: the reply then follows. */
  miss(): boolean {
    if (this.#state === 'pending') this.#state = 'missed';
    return this.#state === 'missed';
  }
}

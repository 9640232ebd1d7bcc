import { AppError } from '../base/app-error.ts';
import { mayTakeOne } from '../base/fair-share.ts';

/**
 * Requests that are under way, by organisation: when the door is full, those who have few inside still come in, so that
 * one organisation's crowd does not keep the others out.
 */
export class Crowd {
  readonly #most: number;
  readonly #inside = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there is no room for anybody at all, whoever it is. */
  isPacked(taken: number): boolean {
    return taken > this.#most + this.#most / 8 + this.#inside.size;
  }

  /** `taken`: requests under way, this one left out. 503 when there is no room for this organisation. */
  enter(organizationId: string, taken: number): void {
    const mine = this.#inside.get(organizationId) ?? 0;
    const holders = this.#inside.size + (mine === 0 ? 1 : 0);
    if (!mayTakeOne({ mine, taken, most: this.#most, holders })) throw crowded();
    this.#inside.set(organizationId, mine + 1);
  }

  leave(organizationId: string): void {
    const left = (this.#inside.get(organizationId) ?? 1) - 1;
    if (left === 0) this.#inside.delete(organizationId);
    else this.#inside.set(organizationId, left);
  }
}

export function crowded(): AppError {
  return new AppError('unavailable', 'The server is serving as many requests as it can; try again shortly.');
}

import type { Job } from '../storage/jobs.ts';

/** Versions that are on their way, and how many of them each organisation has. */
export class PendingVersions {
  readonly #organizationOf = new Map<number, string>();
  readonly #counts = new Map<string, number>();

  /** Organisations that have some. */
  get organizationCount(): number {
    return this.#counts.size;
  }

  has(version: number): boolean {
    return this.#organizationOf.has(version);
  }

  countOf(organizationId: string): number {
    return this.#counts.get(organizationId) ?? 0;
  }

  /** Twice is once. */
  add({ version, organizationId }: Pick<Job, 'version' | 'organizationId'>): void {
    if (this.#organizationOf.has(version)) return;
    this.#organizationOf.set(version, organizationId);
    this.#counts.set(organizationId, this.countOf(organizationId) + 1);
  }

  /** Twice is once. */
  delete(version: number): void {
    const organizationId = this.#organizationOf.get(version);
    if (organizationId === undefined) return;
    this.#organizationOf.delete(version);
    const left = this.countOf(organizationId) - 1;
    if (left === 0) this.#counts.delete(organizationId);
    else this.#counts.set(organizationId, left);
  }
}

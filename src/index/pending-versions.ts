import type { Job } from '../storage/jobs.ts';

/** Versions in progress and their number per organization. */
export class PendingVersions {
  readonly #organizationOf = new Map<number, string>();
  readonly #counts = new Map<string, number>();

  /** Number of organizations with pending versions. */
  get organizationCount(): number {
    return this.#counts.size;
  }

  has(version: number): boolean {
    return this.#organizationOf.has(version);
  }

  countOf(organizationId: string): number {
    return this.#counts.get(organizationId) ?? 0;
  }

  /** Idempotent. */
  add({ version, organizationId }: Pick<Job, 'version' | 'organizationId'>): void {
    if (this.#organizationOf.has(version)) return;
    this.#organizationOf.set(version, organizationId);
    this.#counts.set(organizationId, this.countOf(organizationId) + 1);
  }

  /** Idempotent. */
  delete(version: number): void {
    const organizationId = this.#organizationOf.get(version);
    if (organizationId === undefined) return;
    this.#organizationOf.delete(version);
    const left = this.countOf(organizationId) - 1;
    if (left === 0) this.#counts.delete(organizationId);
    else this.#counts.set(organizationId, left);
  }
}

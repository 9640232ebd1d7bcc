import type { Job } from '../store/jobs.ts';

/** Versions that are on their way, and how many of them each organisation has. */
export class UnsettledVersions {
  readonly #organisationOf = new Map<number, string>();
  readonly #counts = new Map<string, number>();

  /** Organisations that have some. */
  get organisations(): number {
    return this.#counts.size;
  }

  has(version: number): boolean {
    return this.#organisationOf.has(version);
  }

  of(organizationId: string): number {
    return this.#counts.get(organizationId) ?? 0;
  }

  /** Twice is once. */
  add({ version, organizationId }: Pick<Job, 'version' | 'organizationId'>): void {
    if (this.#organisationOf.has(version)) return;
    this.#organisationOf.set(version, organizationId);
    this.#counts.set(organizationId, this.of(organizationId) + 1);
  }

  /** Twice is once. */
  delete(version: number): void {
    const organizationId = this.#organisationOf.get(version);
    if (organizationId === undefined) return;
    this.#organisationOf.delete(version);
    const left = this.of(organizationId) - 1;
    if (left === 0) this.#counts.delete(organizationId);
    else this.#counts.set(organizationId, left);
  }
}

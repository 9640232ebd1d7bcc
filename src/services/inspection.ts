import { readdir } from 'node:fs/promises';
import type { AuditLog } from '../audit/audit-log.ts';
import { toOptionalTimestamp } from '../core/timestamps.ts';
import type { InspectOrganizationRequest, InspectOrganizationResponse } from '../schemas/admin.ts';
import type { Principal } from '../schemas/principal.ts';
import type { AuditCursor } from '../storage/audit-entries.ts';
import type { Blobs } from '../storage/blobs.ts';
import { Collections } from '../storage/collections.ts';
import { Organizations } from '../storage/organizations.ts';
import { countOrphanRows, countRowsOfOrganization, type RowCounts } from '../storage/orphan-rows.ts';
import type { Store } from '../storage/store.ts';
import type { ServiceCall } from './call.ts';

export interface InspectionOptions {
  readonly store: Store;
  readonly blobs: Pick<Blobs, 'countOrphans' | 'exists'>;
  /** Folder of the snapshots of all collections. */
  readonly indexFolder: string;
  /** Folder of files derived from raw files. */
  readonly derivedFilesFolder: string;
  readonly audit: Pick<AuditLog, 'list'>;
}

const removedAction = 'organization.removed';
const auditPageMax = 1_000;

/** Finds data left over from an organization in every table and folder. Read-only. */
export class Inspection {
  readonly #options: InspectionOptions;

  constructor(options: InspectionOptions) {
    this.#options = options;
  }

  async inspectOrganization(
    _call: ServiceCall<Extract<Principal, { kind: 'administrator' }>>,
    request: InspectOrganizationRequest,
  ): Promise<InspectOrganizationResponse> {
    const { store, blobs } = this.#options;
    const organizationId = request.organization_id.toLowerCase();
    const record = new Organizations(store).find(organizationId);
    const removedAt = await this.#removedAt(organizationId);
    return {
      organization_id: organizationId,
      state: record === undefined ? 'gone' : record.deletedAt === undefined ? 'exists' : 'deleting',
      removed_at: toOptionalTimestamp(removedAt),
      remains: toFindings(await countRowsOfOrganization(store, organizationId)),
      orphans: [
        ...toFindings(await countOrphanRows(store)),
        ...toFinding('index folders', await this.#countOrphanIndexes()),
        ...toFinding('files', await blobs.countOrphans()),
        ...toFinding('page images', await this.#countOrphanImages()),
      ],
    };
  }

  /** Returns the time of removal from the audit log; null before removal, or when the entry has expired. */
  async #removedAt(organizationId: string): Promise<number | null> {
    let before: AuditCursor = { at: Number.MAX_SAFE_INTEGER };
    for (;;) {
      const page = await this.#options.audit.list(null, { before, since: 0, limit: auditPageMax });
      const entry = page.find(({ action, target }) => action === removedAction && target === organizationId);
      if (entry !== undefined) return entry.at;
      const last = page.at(-1);
      if (last === undefined || page.length < auditPageMax) return null;
      before = last;
    }
  }

  async #countOrphanIndexes(): Promise<number> {
    const collections = new Collections(this.#options.store);
    const folders = await readdir(this.#options.indexFolder);
    return folders.filter((name) => collections.findById(name.split('.')[0] ?? '') === undefined).length;
  }

  async #countOrphanImages(): Promise<number> {
    const { blobs, derivedFilesFolder } = this.#options;
    let orphans = 0;
    for (const name of await readdir(derivedFilesFolder)) {
      const hash = /^[0-9a-f]{64}/.exec(name)?.[0];
      if (hash !== undefined && !(await blobs.exists(hash))) orphans += 1;
    }
    return orphans;
  }
}

function toFindings(counts: RowCounts): { place: string; count: number }[] {
  return [...counts].map(([place, count]) => ({ place, count }));
}

function toFinding(place: string, count: number): { place: string; count: number }[] {
  return count === 0 ? [] : [{ place, count }];
}

import { readdir } from 'node:fs/promises';
import type { AuditLog } from '../audit/audit-log.ts';
import type { InspectOrganizationRequest, InspectOrganizationResponse } from '../schemas/admin.ts';
import type { Principal } from '../schemas/principal.ts';
import type { Blobs } from '../store/blobs.ts';
import { Collections } from '../store/collections.ts';
import { Organisations } from '../store/organisations.ts';
import { orphansOf, type RowCounts, remainsOf } from '../store/remains.ts';
import type { Store } from '../store/store.ts';
import type { Call } from './call.ts';

export interface InspectionOptions {
  readonly store: Store;
  readonly blobs: Pick<Blobs, 'orphans' | 'size'>;
  /** Folder of the snapshots of all collections. */
  readonly indexFolder: string;
  /** Folder of what was made of raw files. */
  readonly madeFolder: string;
  readonly audit: Pick<AuditLog, 'list'>;
}

const removed = 'organization.removed';
const pageMax = 1_000;

/** Looks for what is left of an organisation, in every table and every folder. It changes nothing. */
export class Inspection {
  readonly #options: InspectionOptions;

  constructor(options: InspectionOptions) {
    this.#options = options;
  }

  async inspectOrganization(
    _call: Call<Extract<Principal, { kind: 'administrator' }>>,
    request: InspectOrganizationRequest,
  ): Promise<InspectOrganizationResponse> {
    const { store, blobs } = this.#options;
    const organizationId = request.organization_id.toLowerCase();
    const record = new Organisations(store).get(organizationId);
    const removedAt = await this.#removedAt(organizationId);
    return {
      organization_id: organizationId,
      state: record === undefined ? 'gone' : record.deletedAt === undefined ? 'exists' : 'deleting',
      removed_at: removedAt === null ? null : new Date(removedAt).toISOString(),
      remains: listed(await remainsOf(store, organizationId)),
      orphans: [
        ...listed(await orphansOf(store)),
        ...counted('index folders', await this.#strayIndexes()),
        ...counted('files', await blobs.orphans()),
        ...counted('page images', await this.#strayImages()),
      ],
    };
  }

  /** What the installation noted of its end; null before it, and when that entry is too old to be kept. */
  async #removedAt(organizationId: string): Promise<number | null> {
    let before: { at: number; entryId?: string } = { at: Number.MAX_SAFE_INTEGER };
    for (;;) {
      const page = await this.#options.audit.list(null, { before, since: 0, limit: pageMax });
      const found = page.find(({ action, target }) => action === removed && target === organizationId);
      if (found !== undefined) return found.at;
      const last = page.at(-1);
      if (last === undefined || page.length < pageMax) return null;
      before = last;
    }
  }

  async #strayIndexes(): Promise<number> {
    const collections = new Collections(this.#options.store);
    const folders = await readdir(this.#options.indexFolder);
    return folders.filter((name) => collections.byId(name.split('.')[0] ?? '') === undefined).length;
  }

  async #strayImages(): Promise<number> {
    const { blobs, madeFolder } = this.#options;
    let strays = 0;
    for (const name of await readdir(madeFolder)) {
      const hash = /^[0-9a-f]{64}/.exec(name)?.[0];
      if (hash !== undefined && (await blobs.size(hash)) === null) strays += 1;
    }
    return strays;
  }
}

function listed(counts: RowCounts): { place: string; count: number }[] {
  return [...counts].map(([place, count]) => ({ place, count }));
}

function counted(place: string, count: number): { place: string; count: number }[] {
  return count === 0 ? [] : [{ place, count }];
}

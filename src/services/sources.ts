import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import { withTimeout } from '../core/async/with-timeout.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { sourceLimits } from '../core/source-limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import { findSourceKind } from '../schemas/source-checks.ts';
import {
  type AddSourceRequest,
  type DeleteSourceRequest,
  type GetSourceItemListRequest,
  type GetSourceItemListResponse,
  type GetSourceListResponse,
  type PreviewSourceResponse,
  type SourceRequest,
  type SourceResponse,
  type SyncSourceRequest,
  sourceKinds,
  type UpdateSourceRequest,
} from '../schemas/sources.ts';
import { type DefaultResponse, successResponse } from '../schemas/wire.ts';
import type { SourceKinds, SourceOpener } from '../sources/source-kinds.ts';
import type { SourceScheduler } from '../sources/source-scheduler.ts';
import type { PlannedChange } from '../sources/synchronizer.ts';
import { type Collections, hasOwnVectors } from '../storage/collections.ts';
import { type SourceRecord, type Sources, timeZoneDefault } from '../storage/sources.ts';
import type { Store } from '../storage/store.ts';
import type { ServiceCall } from './call.ts';
import { findCollection } from './collections.ts';
import { toSourceInfo } from './source-info.ts';

export interface SourceServicesOptions {
  readonly store: Pick<Store, 'write'>;
  readonly sources: Sources;
  readonly collections: Collections;
  readonly kinds: SourceKinds;
  readonly scheduler: SourceScheduler;
  readonly audit: Pick<AuditLog, 'entryOperation'>;
  readonly metadataBytesMax: (organizationId: string) => number;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  /** Serializes the changes to the sources of an organization. */
  readonly locks: KeyedMutex;
}

type SourceCall = ServiceCall<OrganizationPrincipal>;

const scheduleDefault = '1h';

/** Manages the sources of an organization. */
export class SourceServices {
  readonly #options: SourceServicesOptions;

  constructor(options: SourceServicesOptions) {
    this.#options = options;
  }

  async addSource(call: SourceCall, request: AddSourceRequest): Promise<DefaultResponse> {
    const { collections, clock, random } = this.#options;
    const { organizationId } = call.principal;
    const kind = findSourceKind(request);
    if (kind === null)
      throw new AppError('bad_request', `Settings are missing. Send one of ${sourceKinds.join(', ')}.`);
    const collection = findCollection(collections, call.principal, request.collection_name);
    if (hasOwnVectors(collection))
      throw new AppError(
        'bad_request',
        'The collection requires vectors from the caller, which documents of a source do not have. Use a collection with an embedding model.',
      );
    const sourceId = random.uuid();
    const record: SourceRecord = {
      sourceId,
      organizationId,
      name: request.source_name,
      collectionId: collection.collectionId,
      kind,
      settings: request[kind]!,
      prefix: request.prefix ?? '',
      schedule: request.schedule ?? scheduleDefault,
      timeZone: request.time_zone ?? timeZoneDefault,
      isWatched: request.watch ?? false,
      metadata: request.metadata ?? {},
      credentials: this.#seal(kind, sourceId, request.credentials ?? null),
      revision: 0,
      isPaused: false,
      createdAt: clock.now(),
    };
    await this.#check(record);
    await this.#options.locks.run(organizationId, async () => {
      const existing = await this.#options.sources.list(organizationId);
      if (existing.some(({ name }) => name === record.name))
        throw new AppError(
          'conflict',
          `The source ${JSON.stringify(record.name)} already exists. Use another name, or update-source.`,
        );
      if (existing.length >= sourceLimits.perOrganizationMax)
        throw new AppError(
          'bad_request',
          `Your organization has ${sourceLimits.perOrganizationMax} sources, which is the maximum. Delete one first.`,
        );
      await this.#write(call, 'source.added', record);
      this.#options.scheduler.add(record);
    });
    return successResponse;
  }

  updateSource(call: SourceCall, request: UpdateSourceRequest): Promise<DefaultResponse> {
    return this.#change(call, request.source_name, 'source.updated', async (existing) => {
      const kind = findSourceKind(request);
      if (kind !== null && kind !== existing.kind)
        throw new AppError(
          'bad_request',
          `The kind of the source is ${existing.kind} and cannot be changed. Add another source.`,
        );
      const { schedule, time_zone: timeZone, watch, metadata, credentials } = request;
      const record: SourceRecord = {
        ...existing,
        settings: (kind === null ? null : request[kind]) ?? existing.settings,
        schedule: schedule ?? existing.schedule,
        timeZone: timeZone ?? existing.timeZone ?? timeZoneDefault,
        isWatched: watch ?? existing.isWatched,
        metadata: metadata ?? existing.metadata,
        credentials:
          credentials === undefined
            ? existing.credentials
            : this.#seal(existing.kind, existing.sourceId, credentials),
        revision: kind === null && metadata == null ? existing.revision : existing.revision + 1,
      };
      await this.#check(record);
      return record;
    });
  }

  pauseSource(call: SourceCall, { source_name }: SourceRequest): Promise<DefaultResponse> {
    return this.#change(call, source_name, 'source.paused', async (existing) => ({
      ...existing,
      isPaused: true,
    }));
  }

  resumeSource(call: SourceCall, { source_name }: SourceRequest): Promise<DefaultResponse> {
    return this.#change(call, source_name, 'source.resumed', async (existing) => ({
      ...existing,
      isPaused: false,
    }));
  }

  /** The documents are deleted in the background, which continues after a restart of the server. */
  deleteSource(
    call: SourceCall,
    { source_name, delete_documents }: DeleteSourceRequest,
  ): Promise<DefaultResponse> {
    return this.#change(call, source_name, 'source.deleted', async (existing) => ({
      ...existing,
      removal: { deleteDocuments: delete_documents ?? false },
    }));
  }

  async getSource(call: SourceCall, { source_name }: SourceRequest): Promise<SourceResponse> {
    return { source: this.#toInfo(this.#find(call, source_name)) };
  }

  async getSourceList(call: SourceCall): Promise<GetSourceListResponse> {
    const records = await this.#options.sources.list(call.principal.organizationId);
    return { sources: records.map((record) => this.#toInfo(record)) };
  }

  async syncSource(call: SourceCall, request: SyncSourceRequest): Promise<SourceResponse> {
    const record = this.#findUsable(call, request.source_name);
    if (record.isPaused)
      throw new AppError('conflict', 'The source is paused. Resume it before you synchronize it.');
    this.#options.scheduler.request(record, request.allow_empty ?? false);
    return { source: this.#toInfo(record) };
  }

  async previewSource(call: SourceCall, { source_name }: SourceRequest): Promise<PreviewSourceResponse> {
    const record = this.#findUsable(call, source_name);
    const changes: PlannedChange[] = [];
    const collect = (change: PlannedChange) => {
      if (changes.length < sourceLimits.planMax) changes.push(change);
    };
    const bounds = { signal: call.cancellation.signal, msMax: sourceLimits.planMsMax };
    return await withTimeout(bounds, async (signal) => {
      const counts = await this.#options.scheduler.preview(record, signal, collect);
      return {
        counts,
        changes: changes.map((change) => ({ ...change, path: `${record.prefix}${change.key}` })),
        is_complete: !signal.aborted,
      };
    });
  }

  async getSourceItemList(
    call: SourceCall,
    request: GetSourceItemListRequest,
  ): Promise<GetSourceItemListResponse> {
    const record = this.#find(call, request.source_name);
    const limit = request.limit ?? limits.listDocumentsMax;
    const items: GetSourceItemListResponse['items'] = [];
    for await (const { key, record: item } of this.#options.sources.items(record, request.key_gt ?? null)) {
      const pause = call.yieldToEventLoop();
      if (pause !== null) await pause;
      if (request.only_failed === true && item.action !== 'failed') continue;
      if (items.length === limit) return { items, next_key_gt: items.at(-1)!.key };
      items.push({
        key,
        path: `${record.prefix}${key}`,
        result: item.action,
        error: item.error,
        at: toTimestamp(item.at),
        sha256: item.hash,
      });
    }
    return { items, next_key_gt: null };
  }

  /** Deletes all sources of an organization that is being deleted. */
  async deleteAllOfOrganization(organizationId: string): Promise<void> {
    await this.#options.scheduler.removeAll(organizationId);
    await this.#options.sources.deleteAll(organizationId);
  }

  #change(
    call: SourceCall,
    name: string,
    action: string,
    change: (existing: SourceRecord) => Promise<SourceRecord>,
  ): Promise<DefaultResponse> {
    return this.#options.locks.run(call.principal.organizationId, async () => {
      const record = await change(this.#findUsable(call, name));
      await this.#write(call, action, record);
      await this.#options.scheduler.replace(record);
      return successResponse;
    });
  }

  async #write({ principal, address }: SourceCall, action: string, record: SourceRecord): Promise<void> {
    const entry = this.#options.audit.entryOperation({
      organizationId: principal.organizationId,
      actor: actorOf(principal),
      address: address(),
      action,
      target: record.name,
      details: { kind: record.kind },
    });
    await this.#options.store.write([this.#options.sources.put(record), entry]);
  }

  /** Errors: 400, 403 or 502 if the origin cannot be used now. */
  async #check(record: SourceRecord): Promise<void> {
    const opener = this.#options.kinds.openerOf(record.kind);
    if (record.isWatched && !opener.canWatch)
      throw new AppError(
        'bad_request',
        `A source of the kind ${record.kind} cannot be watched. Use a schedule.`,
      );
    const source = await this.#options.kinds.open(record);
    await source.close();
  }

  #seal(kind: string, sourceId: string, credentials: Readonly<Record<string, string>> | null) {
    if (credentials === null) return null;
    const { credentialNames }: SourceOpener = this.#options.kinds.openerOf(kind);
    for (const name of Object.keys(credentials))
      if (!credentialNames.includes(name))
        throw new AppError(
          'bad_request',
          credentialNames.length === 0
            ? `A source of the kind ${kind} uses no credentials. Send the request without them.`
            : `A source of the kind ${kind} uses no credential ${JSON.stringify(name)}. Send only ${credentialNames.join(', ')}.`,
        );
    return this.#options.kinds.seal(sourceId, credentials);
  }

  #find({ principal }: SourceCall, name: string): SourceRecord {
    const record = this.#options.sources.find(principal.organizationId, name);
    if (record !== undefined) return record;
    throw new AppError('not_found', `The source ${JSON.stringify(name)} does not exist.`);
  }

  #findUsable(call: SourceCall, name: string): SourceRecord {
    const record = this.#find(call, name);
    if (record.removal === undefined) return record;
    throw new AppError(
      'conflict',
      `The source ${JSON.stringify(name)} is being deleted. Try again when it no longer exists, or use another name.`,
    );
  }

  #toInfo(record: SourceRecord) {
    const { sources, scheduler, collections } = this.#options;
    return toSourceInfo(record, {
      state: sources.state(record),
      activity: scheduler.activityOf(record),
      collectionName: collections.findById(record.collectionId)?.name ?? null,
    });
  }
}

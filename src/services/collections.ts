import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { ModelReference, ModelVersion } from '../core/model-reference.ts';
import type {
  AddCollectionRequest,
  ChangeModelRequest,
  DeleteCollectionRequest,
  GetCollectionInfoRequest,
  GetCollectionInfoResponse,
  GetCollectionListResponse,
  UpdateCollectionRequest,
} from '../schemas/collections.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import { type DefaultResponse, successResponse } from '../schemas/wire.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { ChangeableSettings } from '../storage/collection-settings.ts';
import {
  type Collection,
  type Collections,
  cancelVectorChange,
  getVectorState,
  hasOwnVectors,
  ownVectors,
  startVectorChange,
} from '../storage/collections.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import type { VersionHistory } from '../storage/version-history.ts';
import { canAccessCollection, documentFilterOf } from './access-filter.ts';
import type { ServiceCall } from './call.ts';
import { appendCollectionChange } from './collection-change.ts';
import { describeCollection } from './collection-info.ts';
import { changeSettings, hasSettings } from './collection-settings.ts';
import { pickKnownDefaults } from './query-defaults.ts';

/** Lifecycle of the shards of a collection, which open before its record exists and are removed after it. */
export interface CollectionLifecycle {
  /**
   * Opens empty shards; called before the record exists, so that no reader finds a collection without shards.
   */
  open(collection: Collection): Promise<void>;
  /** Takes the shards out of service and deletes their data in the background. */
  remove(collection: Collection): Promise<void>;
  /** Called after a new embedding model was persisted; starts the re-embedding. */
  onModelChanged(collection: Collection): void;
}

export interface CollectionServicesOptions {
  readonly store: Store;
  readonly collections: Collections;
  /** Changes of the names and aliases of an organization run under its id. */
  readonly nameLocks: KeyedMutex;
  readonly lifecycle: CollectionLifecycle;
  readonly feeds: Pick<ChangeFeeds, 'append'>;
  readonly audit: Pick<AuditLog, 'entryOperation'>;
  readonly history: Pick<VersionHistory, 'start'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Default embedding model of a new collection. */
  readonly model: ModelVersion;
  /** Model of collections without a stored model. */
  readonly defaultModel: string;
  /** Returns the embedding model of a name. Errors: 404 when it does not exist. */
  readonly findModel: (name: string) => ModelVersion;
}

/** Creates, updates, lists and deletes collections, and changes their embedding models. */
export class CollectionServices {
  readonly #options: CollectionServicesOptions;

  constructor(options: CollectionServicesOptions) {
    this.#options = options;
  }

  /** Creates an empty collection with the settings and the model of another one. Errors: 409 for a taken name. */
  async addClone(
    call: ServiceCall<OrganizationPrincipal>,
    from: Collection,
    name: string,
  ): Promise<Collection> {
    const { random, clock } = this.#options;
    const { vectors } = from;
    const collection = {
      ...from,
      collectionId: random.uuid(),
      name,
      createdAt: clock.now(),
      ...(vectors === undefined ? {} : { vectors: { ...vectors, next: null, hasRemains: false } }),
    };
    await this.#create(call.principal, collection);
    return collection;
  }

  async addCollection(
    call: ServiceCall<OrganizationPrincipal>,
    request: AddCollectionRequest,
  ): Promise<DefaultResponse> {
    const { clock, random } = this.#options;
    const name = request.collection_name;
    const shards = request.num_shards ?? 1;
    const { query_defaults: defaults } = request;
    // Checked before any lookup, so that the reply does not reveal which collections exist.
    if (!canAccessCollection(call.principal, name)) throw keyRestrictionError(name);
    const { organizationId } = call.principal;
    const model = this.#resolveModel(request);
    const collection: Collection = {
      collectionId: random.uuid(),
      organizationId,
      name,
      shards,
      dimensions: model.dimensions,
      model: { id: model.id, version: model.version },
      createdAt: clock.now(),
      languages: [],
      ...changeSettings({}, request),
      // Empty ones are shown, too.
      ...(defaults === undefined ? {} : { queryDefaults: pickKnownDefaults(defaults) }),
    };
    await this.#create(call.principal, collection);
    return successResponse;
  }

  /** Errors: 409 for the name of a collection or an alias. */
  #create({ organizationId }: OrganizationPrincipal, collection: Collection): Promise<void> {
    const { store, collections, lifecycle, nameLocks, feeds, history } = this.#options;
    const { name } = collection;
    return nameLocks.run(organizationId, async () => {
      if (collections.resolve(organizationId, name) !== undefined) throw nameTakenError(name);
      await lifecycle.open(collection);
      try {
        const at = collection.createdAt;
        const created = appendCollectionChange(feeds, 'collection.created', collection, { at });
        const operations = [...collections.create(collection), created, ...history.start(collection)];
        await store.write(operations, { organizationId });
      } catch (error) {
        await lifecycle.remove(collection);
        throw error instanceof ExpectationFailedError ? nameTakenError(name) : error;
      }
    });
  }

  async deleteCollection(
    call: ServiceCall<OrganizationPrincipal>,
    request: DeleteCollectionRequest,
  ): Promise<DefaultResponse> {
    const { collections } = this.#options;
    const collection = findExactCollection(collections, call.principal, request.collection_name);
    const deleted = this.#options.audit.entryOperation({
      organizationId: collection.organizationId,
      actor: actorOf(call.principal),
      address: call.address(),
      action: 'collection.deleted',
      target: collection.name,
    });
    if (!(await this.#delete(collection, { extraOperations: [deleted] })))
      throw collectionNotFoundError(collection.name);
    return successResponse;
  }

  /**
   * Deletes the collections of a deleted organization. Their data is collected earlier than usual, because no
   * reader is left.
   */
  async deleteAllOfOrganization(organizationId: string): Promise<void> {
    const gcAdvanceMs = limits.garbageDelayMs - limits.organizationGraceMs;
    for (const collection of await this.#options.collections.list(organizationId))
      await this.#delete(collection, { gcAdvanceMs });
  }

  /** Deletes a collection and its aliases. Returns false when a concurrent call deleted it. */
  #delete(
    collection: Collection,
    options: { readonly gcAdvanceMs?: number; readonly extraOperations?: readonly WriteOperation[] },
  ): Promise<boolean> {
    const { organizationId } = collection;
    return this.#options.nameLocks.run(organizationId, () => this.#deleteLocked(collection, options));
  }

  async #deleteLocked(
    collection: Collection,
    {
      gcAdvanceMs = 0,
      extraOperations = [],
    }: { readonly gcAdvanceMs?: number; readonly extraOperations?: readonly WriteOperation[] },
  ): Promise<boolean> {
    const { store, collections, lifecycle, clock, feeds } = this.#options;
    try {
      const { organizationId, collectionId } = collection;
      const aliases = await collections.aliases.list(organizationId);
      const own = aliases.filter((alias) => alias.collectionId === collectionId);
      const operations = [
        ...collections.delete(collection, clock.now() - gcAdvanceMs),
        ...own.map((alias) => collections.aliases.delete(alias)),
        appendCollectionChange(feeds, 'collection.deleted', collection, { at: clock.now() }),
        ...extraOperations,
      ];
      await store.write(operations, { mayUseReserve: true });
    } catch (error) {
      if (error instanceof ExpectationFailedError) return false;
      throw error;
    }
    await lifecycle.remove(collection);
    return true;
  }

  async updateCollection(
    call: ServiceCall<OrganizationPrincipal>,
    request: UpdateCollectionRequest,
  ): Promise<DefaultResponse> {
    const { store, collections, nameLocks, history } = this.#options;
    const { collection_name: name } = request;
    const { collectionId } = findCollection(collections, call.principal, name);
    if (!hasSettings(request)) return successResponse;
    // A lock, because concurrent changes of the settings write one record.
    return await nameLocks.run(call.principal.organizationId, async () => {
      const known: ChangeableSettings = collections.findById(collectionId) ?? {};
      const settings = changeSettings(known, request);
      const started = known.historyDays === undefined ? { ...settings, collectionId } : { collectionId };
      try {
        await store.write([...collections.putSettings(collectionId, settings), ...history.start(started)]);
        // Again, because changes that were being written meanwhile are not recorded.
        const restarted = history.start(started);
        if (restarted.length > 0) await store.write([collections.expectExists(collectionId), ...restarted]);
      } catch (error) {
        throw error instanceof ExpectationFailedError ? collectionNotFoundError(name) : error;
      }
      return successResponse;
    });
  }

  /** Returns the embedding model of a new collection. */
  #resolveModel({ embedding_model: name, dimensions }: AddCollectionRequest): ModelVersion {
    const { model, findModel } = this.#options;
    if (name !== ownVectors) {
      if (dimensions === undefined) return name === undefined ? model : findModel(name);
      throw new AppError(
        'bad_request',
        'dimensions is only allowed with embedding_model "own". For other models, the model determines the dimensions.',
      );
    }
    const dimensionsMax = limits.ownVectorDimensionsMax;
    if (dimensions !== undefined && dimensions >= 1 && dimensions <= dimensionsMax)
      return { id: ownVectors, version: '', dimensions };
    const actual = dimensions === undefined ? 'is missing' : `is ${dimensions}`;
    throw new AppError(
      'bad_request',
      `embedding_model "own" requires dimensions, the length of each vector, from 1 to ${dimensionsMax}; it ${actual}.`,
    );
  }

  /**
   * Changes the embedding model of a collection. Replies once the change is persisted; the vectors are
   * recomputed in the background, and the old ones serve queries until then.
   */
  async changeModel(
    call: ServiceCall<OrganizationPrincipal>,
    request: ChangeModelRequest,
  ): Promise<DefaultResponse> {
    const { store, collections, lifecycle, findModel } = this.#options;
    const collection = findCollection(collections, call.principal, request.collection_name);
    if (hasOwnVectors(collection)) throw callerVectorsError(collection);
    if (request.embedding_model === ownVectors) throw ownIsNotModelError();
    const model = findModel(request.embedding_model);
    const state = getVectorState(collection);
    const isModel = (other: ModelReference | null | undefined) =>
      other?.id === model.id && other.version === model.version;
    if (isModel(state.next?.model)) throw modelChangeConflictError(collection, model.id);
    if (isModel(state.model) && state.next === null) throw modelUnchangedError(collection, model.id);
    const after = isModel(state.model) ? cancelVectorChange(state) : startVectorChange(state, model);
    try {
      await store.write(collections.putVectors(collection.collectionId, state, after));
    } catch (error) {
      if (!(error instanceof ExpectationFailedError)) throw error;
      // Deleted meanwhile, or changed by a concurrent call.
      findCollection(collections, call.principal, collection.name);
      throw new AppError(
        'conflict',
        'The model of the collection was changed by another request. Try again.',
      );
    }
    lifecycle.onModelChanged(collection);
    return successResponse;
  }

  async getCollectionInfo(
    call: ServiceCall<OrganizationPrincipal>,
    request: GetCollectionInfoRequest,
  ): Promise<GetCollectionInfoResponse> {
    const { collections, defaultModel } = this.#options;
    const collection = findCollection(collections, call.principal, request.collection_name);
    const showsPaths = documentFilterOf(call.principal) === null;
    return { collection: describeCollection(collection, { defaultModel, showsPaths }) };
  }

  async getCollectionList(call: ServiceCall<OrganizationPrincipal>): Promise<GetCollectionListResponse> {
    const visible = await listVisibleCollections(this.#options.collections, call.principal);
    const collectionNames = visible.map((collection) => collection.name);
    const defaults = visible.flatMap(({ name, queryDefaults }) =>
      queryDefaults === undefined ? [] : [{ collection_name: name, query_defaults: queryDefaults }],
    );
    if (defaults.length === 0) return { collection_names: collectionNames };
    return { collection_names: collectionNames, query_defaults: defaults };
  }
}

/** Returns all collections that the caller may access. */
export async function listVisibleCollections(
  collections: Pick<Collections, 'list'>,
  principal: OrganizationPrincipal,
): Promise<Collection[]> {
  const all = await collections.list(principal.organizationId);
  return principal.restriction === undefined
    ? all
    : all.filter(({ name }) => canAccessCollection(principal, name));
}

/**
 * Returns the collection with that name or alias. Access depends on the name of the collection, so that an alias never
 * grants access. Errors: 404 when it does not exist or is not accessible.
 */
export function findCollection(
  collections: Pick<Collections, 'resolve'>,
  principal: OrganizationPrincipal,
  name: string,
): Collection {
  const collection = collections.resolve(principal.organizationId, name);
  if (collection === undefined || !canAccessCollection(principal, collection.name))
    throw collectionNotFoundError(name);
  return collection;
}

/** Same, for operations that do not accept an alias, because they concern the name or delete the collection. */
export function findExactCollection(
  collections: Collections,
  principal: OrganizationPrincipal,
  name: string,
): Collection {
  const collection = findCollection(collections, principal, name);
  if (collection.name === name) return collection;
  throw new AppError(
    'not_found',
    `${JSON.stringify(name)} is an alias of the collection ${JSON.stringify(collection.name)}. This operation requires the name of the collection.`,
  );
}

function keyRestrictionError(name: string): AppError {
  return new AppError(
    'forbidden',
    `This API key is restricted to certain collections, which do not include ${JSON.stringify(name)}. Use a key without this restriction.`,
  );
}

export function collectionNotFoundError(name: string): AppError {
  return new AppError('not_found', `The collection ${JSON.stringify(name)} does not exist.`);
}

function modelChangeConflictError({ name }: Collection, model: string): AppError {
  const detail = `The model of ${JSON.stringify(name)} is already being changed to ${JSON.stringify(model)}.`;
  return new AppError('conflict', detail);
}

function callerVectorsError({ name }: Collection): AppError {
  return new AppError(
    'bad_request',
    `The collection ${JSON.stringify(name)} has vectors supplied by callers, so its model cannot be changed. Add the documents to a new collection.`,
  );
}

function ownIsNotModelError(): AppError {
  return new AppError(
    'bad_request',
    '"own" is not a model. To supply your own vectors, create a collection with embedding_model "own".',
  );
}

function modelUnchangedError({ name }: Collection, model: string): AppError {
  const detail = `The collection ${JSON.stringify(name)} already uses the model ${JSON.stringify(model)}.`;
  return new AppError('conflict', detail);
}

export function nameTakenError(name: string): AppError {
  return new AppError('conflict', `The collection ${JSON.stringify(name)} already exists.`);
}

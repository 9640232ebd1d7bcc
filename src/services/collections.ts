import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { checkCollectionName, checkControl, checkShardCount } from '../schemas/checks.ts';
import type {
  AddCollectionRequest,
  ChangeModelRequest,
  DeleteCollectionRequest,
  GetCollectionListResponse,
  UpdateCollectionRequest,
} from '../schemas/collections.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type { QueryDefaults } from '../schemas/queries.ts';
import { type DefaultResponse, success } from '../schemas/wire.ts';
import {
  beginning,
  type Collection,
  type Collections,
  cancelled,
  hasOwnVectors,
  ownVectors,
  vectorsOf,
} from '../store/collections.ts';
import { ExpectationFailed, type Operation, type Store } from '../store/store.ts';
import type { Call } from './call.ts';
import { seesCollection } from './sight.ts';

/** What has to happen around a collection's record: its shards open with it, and are cleared away after it. */
export interface CollectionLifecycle {
  /** Opens empty shards; called before the record exists, so that nobody finds a collection without them. */
  open(collection: Collection): Promise<void>;
  /** Takes the shards out of service and clears everything away in the background. */
  remove(collection: Collection): Promise<void>;
  /** Which model is to make its vectors was written down: the work follows. */
  modelChanged(collection: Collection): void;
}

interface NamedModel {
  readonly id: string;
  readonly version: string;
  readonly dimensions: number;
}

export interface CollectionServicesOptions {
  readonly store: Store;
  readonly collections: Collections;
  readonly lifecycle: CollectionLifecycle;
  readonly audit: Pick<AuditLog, 'entry'>;
  readonly clock: Clock;
  readonly chance: Chance;
  /** The model that a new collection gets its vectors from. */
  readonly model: NamedModel;
  /** The embedding model of a name; 404 when there is none. */
  readonly modelNamed: (name: string) => NamedModel;
}

/** Collections: create, delete, list. */
export class CollectionServices {
  readonly #options: CollectionServicesOptions;

  constructor(options: CollectionServicesOptions) {
    this.#options = options;
  }

  async addCollection(
    call: Call<OrganisationPrincipal>,
    request: AddCollectionRequest,
  ): Promise<DefaultResponse> {
    const { store, collections, lifecycle, clock, chance } = this.#options;
    const name = request.collection_name;
    const shards = request.num_shards ?? 1;
    checkCollectionName(name);
    checkShardCount(shards);
    const defaults = request.query_defaults;
    if (defaults !== undefined) checkControl(defaults);
    // Before anything is looked for, so that it says nothing of what there is.
    if (!seesCollection(call.principal, name)) throw notForThisKey(name);
    const { organizationId } = call.principal;
    if (collections.get(organizationId, name) !== undefined) throw nameTaken(name);
    const model = this.#modelOf(request);
    const collection: Collection = {
      collectionId: chance.uuid(),
      organizationId,
      name,
      shards,
      dimensions: model.dimensions,
      model: { id: model.id, version: model.version },
      createdAt: clock.now(),
      languages: [],
      ...(defaults === undefined ? {} : { queryDefaults: knownDefaults(defaults) }),
    };
    await lifecycle.open(collection);
    try {
      await store.write(collections.create(collection));
    } catch (error) {
      await lifecycle.remove(collection);
      throw error instanceof ExpectationFailed ? nameTaken(name) : error;
    }
    return success;
  }

  async deleteCollection(
    call: Call<OrganisationPrincipal>,
    request: DeleteCollectionRequest,
  ): Promise<DefaultResponse> {
    const collection = findCollection(this.#options.collections, call.principal, request.collection_name);
    const deleted = this.#options.audit.entry({
      organizationId: collection.organizationId,
      actor: actorOf(call.principal),
      address: call.address(),
      action: 'collection.deleted',
      target: collection.name,
    });
    if (!(await this.#delete(collection, { alongside: [deleted] }))) throw collectionUnknown(collection.name);
    return success;
  }

  /** Those of an organisation that is gone. They are cleared away sooner than others: nobody asks them any more. */
  async deleteAllOf(organizationId: string): Promise<void> {
    const sooner = limits.garbageDelayMs - limits.organisationGraceMs;
    for (const collection of await this.#options.collections.list(organizationId))
      await this.#delete(collection, { sooner });
  }

  /** False when somebody else deleted it meanwhile. */
  async #delete(
    collection: Collection,
    { sooner = 0, alongside = [] }: { readonly sooner?: number; readonly alongside?: readonly Operation[] },
  ): Promise<boolean> {
    const { store, collections, lifecycle, clock } = this.#options;
    try {
      const operations = [...collections.delete(collection, clock.now() - sooner), ...alongside];
      await store.write(operations, { mayUseReserve: true });
    } catch (error) {
      if (error instanceof ExpectationFailed) return false;
      throw error;
    }
    await lifecycle.remove(collection);
    return true;
  }

  async updateCollection(
    call: Call<OrganisationPrincipal>,
    request: UpdateCollectionRequest,
  ): Promise<DefaultResponse> {
    const { store, collections } = this.#options;
    const collection = findCollection(collections, call.principal, request.collection_name);
    const defaults = request.query_defaults;
    if (defaults === undefined) return success;
    if (defaults !== null) checkControl(defaults);
    const known = defaults === null ? {} : knownDefaults(defaults);
    const kept = Object.keys(known).length === 0 ? null : known;
    try {
      await store.write(collections.putQueryDefaults(collection.collectionId, kept));
    } catch (error) {
      throw error instanceof ExpectationFailed ? collectionUnknown(collection.name) : error;
    }
    return success;
  }

  /** What makes the vectors of a new collection. */
  #modelOf({ embedding_model: name, dimensions }: AddCollectionRequest): NamedModel {
    const { model, modelNamed } = this.#options;
    if (name !== ownVectors) {
      if (dimensions === undefined) return name === undefined ? model : modelNamed(name);
      throw new AppError(
        'bad_request',
        'dimensions are those of vectors of your own: they need embedding_model "own". A model knows its dimensions itself.',
      );
    }
    const most = limits.ownDimensionsMax;
    if (dimensions !== undefined && dimensions >= 1 && dimensions <= most)
      return { id: ownVectors, version: '', dimensions };
    const said = dimensions === undefined ? 'is missing' : `is ${dimensions}`;
    throw new AppError(
      'bad_request',
      `embedding_model "own" needs dimensions, how many numbers each vector has, from 1 to ${most}; it ${said}.`,
    );
  }

  /**
   * Another model is to make the vectors of a collection. It answers when that is written down; the work goes on in the
   * background, and until it is done the old vectors serve.
   */
  async changeModel(
    call: Call<OrganisationPrincipal>,
    request: ChangeModelRequest,
  ): Promise<DefaultResponse> {
    const { store, collections, lifecycle, modelNamed } = this.#options;
    const collection = findCollection(collections, call.principal, request.collection_name);
    if (hasOwnVectors(collection)) throw callersVectors(collection);
    if (request.embedding_model === ownVectors) throw noModel();
    const model = modelNamed(request.embedding_model);
    const state = vectorsOf(collection);
    const isModel = (other: { readonly id: string; readonly version: string } | null | undefined) =>
      other?.id === model.id && other.version === model.version;
    if (isModel(state.next?.model)) throw changing(collection, model.id);
    if (isModel(state.model) && state.next === null) throw unchanged(collection, model.id);
    const after = isModel(state.model) ? cancelled(state) : beginning(state, model);
    try {
      await store.write(collections.putVectors(collection.collectionId, state, after));
    } catch (error) {
      if (!(error instanceof ExpectationFailed)) throw error;
      // Deleted meanwhile, or somebody else changed it.
      findCollection(collections, call.principal, collection.name);
      throw new AppError('conflict', 'The model of the collection was changed in this very moment.');
    }
    lifecycle.modelChanged(collection);
    return success;
  }

  async getCollectionList(call: Call<OrganisationPrincipal>): Promise<GetCollectionListResponse> {
    const found = await collectionsOf(this.#options.collections, call.principal);
    const collectionNames = found.map((collection) => collection.name);
    const defaults = found.flatMap(({ name, queryDefaults }) =>
      queryDefaults === undefined ? [] : [{ collection_name: name, query_defaults: queryDefaults }],
    );
    if (defaults.length === 0) return { collection_names: collectionNames };
    return { collection_names: collectionNames, query_defaults: defaults };
  }
}

/** All collections that there are for the caller. */
export async function collectionsOf(
  collections: Pick<Collections, 'list'>,
  principal: OrganisationPrincipal,
): Promise<Collection[]> {
  const all = await collections.list(principal.organizationId);
  return principal.restriction === undefined
    ? all
    : all.filter(({ name }) => seesCollection(principal, name));
}

/** The caller's own collection of that name. Throws 400 for an impossible name and 404 when there is none. */
export function findCollection(
  collections: Collections,
  principal: OrganisationPrincipal,
  name: string,
): Collection {
  checkCollectionName(name);
  const collection = seesCollection(principal, name)
    ? collections.get(principal.organizationId, name)
    : undefined;
  if (collection === undefined) throw collectionUnknown(name);
  return collection;
}

/** Without fields that nobody knows. */
function knownDefaults({ weights, min_score, max_per_document, syntax }: QueryDefaults): QueryDefaults {
  return {
    ...(weights === undefined
      ? {}
      : { weights: weights === null ? null : { lexical: weights.lexical, vector: weights.vector } }),
    ...(min_score === undefined ? {} : { min_score }),
    ...(max_per_document === undefined ? {} : { max_per_document }),
    ...(syntax === undefined ? {} : { syntax }),
  };
}

function notForThisKey(name: string): AppError {
  return new AppError(
    'forbidden',
    `This API key is restricted to certain collections, and ${JSON.stringify(name)} is none of them.`,
  );
}

function collectionUnknown(name: string): AppError {
  return new AppError('not_found', `There is no collection named ${JSON.stringify(name)}.`);
}

function changing({ name }: Collection, model: string): AppError {
  const sentence = `The model of ${JSON.stringify(name)} is being changed to ${JSON.stringify(model)} already.`;
  return new AppError('conflict', sentence);
}

function callersVectors({ name }: Collection): AppError {
  return new AppError(
    'bad_request',
    `The vectors of ${JSON.stringify(name)} come from its callers, who go on sending them: no model can take their place. Add the documents to a new collection.`,
  );
}

function noModel(): AppError {
  return new AppError(
    'bad_request',
    '"own" is no model: vectors that come from callers are asked for when a collection is created.',
  );
}

function unchanged({ name }: Collection, model: string): AppError {
  const sentence = `The vectors of ${JSON.stringify(name)} are those of ${JSON.stringify(model)} already.`;
  return new AppError('conflict', sentence);
}

function nameTaken(name: string): AppError {
  return new AppError('conflict', `A collection named ${JSON.stringify(name)} exists already.`);
}

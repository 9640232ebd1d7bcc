import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type {
  AddAliasRequest,
  AliasChange,
  DeleteAliasRequest,
  GetAliasListResponse,
  RenameCollectionRequest,
  UpdateAliasesRequest,
} from '../schemas/aliases.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import { type DefaultResponse, successResponse } from '../schemas/wire.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { Collections } from '../storage/collections.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import { canAccessCollection } from './access-filter.ts';
import type { ServiceCall } from './call.ts';
import { appendCollectionChange } from './collection-change.ts';
import { collectionNotFoundError, findExactCollection, nameTakenError } from './collections.ts';

export interface CollectionNameServicesOptions {
  readonly store: Store;
  readonly collections: Collections;
  /** Serializes the changes to the names and aliases of an organization. */
  readonly nameLocks: KeyedMutex;
  readonly audit: Pick<AuditLog, 'entryOperation'>;
  readonly clock: Clock;
  readonly feeds: Pick<ChangeFeeds, 'append'>;
}

type NameCall = ServiceCall<OrganizationPrincipal>;

/** Attempts to rename a collection whose record is changed by indexing at the same time. */
const renameAttemptsMax = 10;

/** Aliases of collections, and changes of their names. */
export class CollectionNameServices {
  readonly #options: CollectionNameServicesOptions;

  constructor(options: CollectionNameServicesOptions) {
    this.#options = options;
  }

  addAlias(call: NameCall, { alias_name, collection_name }: AddAliasRequest): Promise<DefaultResponse> {
    return this.#change(call, [{ alias_name, collection_name }], ({ organizationId }) => {
      const { aliases } = this.#options.collections;
      if (aliases.find(organizationId, alias_name) === undefined) return;
      throw new AppError(
        'conflict',
        `The alias ${JSON.stringify(alias_name)} already exists. Use update-aliases to change it.`,
      );
    });
  }

  updateAliases(call: NameCall, { changes }: UpdateAliasesRequest): Promise<DefaultResponse> {
    return this.#change(call, changes, () => {});
  }

  deleteAlias(call: NameCall, { alias_name }: DeleteAliasRequest): Promise<DefaultResponse> {
    return this.#change(call, [{ alias_name, collection_name: null }], () => {});
  }

  async getAliasList(call: NameCall): Promise<GetAliasListResponse> {
    const { collections } = this.#options;
    const aliases = await collections.aliases.list(call.principal.organizationId);
    return {
      aliases: aliases.flatMap(({ name, collectionId, createdAt }) => {
        const collection = collections.findById(collectionId);
        if (collection === undefined || !canAccessCollection(call.principal, collection.name)) return [];
        return [
          {
            alias_name: name,
            collection_name: collection.name,
            created_at: toTimestamp(createdAt),
          },
        ];
      }),
    };
  }

  /** Renames a collection; its aliases, documents and running work continue. */
  renameCollection(call: NameCall, request: RenameCollectionRequest): Promise<DefaultResponse> {
    const { store, collections, nameLocks, feeds, clock } = this.#options;
    const { organizationId } = call.principal;
    const newName = request.new_collection_name;
    return nameLocks.run(organizationId, async () => {
      for (let attempt = 1; ; attempt += 1) {
        const collection = findExactCollection(collections, call.principal, request.collection_name);
        if (newName === collection.name) return successResponse;
        if (collections.resolve(organizationId, newName) !== undefined) throw nameTakenError(newName);
        const entry = this.#auditEntry(call, 'collection.renamed', collection.name, { name: newName });
        const renamed = appendCollectionChange(
          feeds,
          'collection.renamed',
          { ...collection, name: newName },
          { at: clock.now(), previousName: collection.name },
        );
        try {
          await store.write([...collections.rename(collection, newName), entry, renamed]);
          return successResponse;
        } catch (error) {
          // Indexing added a language to the record: read it again.
          if (!(error instanceof ExpectationFailedError) || attempt === renameAttemptsMax) throw error;
        }
      }
    });
  }

  /** Applies all changes in one write. `check` runs under the lock, before anything else. */
  #change(
    call: NameCall,
    changes: readonly AliasChange[],
    check: (principal: OrganizationPrincipal) => void,
  ): Promise<DefaultResponse> {
    const { store, collections, nameLocks } = this.#options;
    const { organizationId } = call.principal;
    return nameLocks.run(organizationId, async () => {
      check(call.principal);
      const operations = changes.flatMap((change) => this.#operationsOf(call, change));
      const existing = await collections.aliases.list(organizationId);
      const names = new Set(existing.map(({ name }) => name));
      for (const { alias_name, collection_name } of changes)
        if (collection_name === null) names.delete(alias_name);
        else names.add(alias_name);
      if (names.size > limits.aliasesPerOrganizationMax && names.size > existing.length)
        throw new AppError(
          'rate_limited',
          `An organization can have at most ${limits.aliasesPerOrganizationMax} aliases. Delete one first.`,
          { headers: { 'x-quarry-limit': 'aliases', 'x-should-retry': 'false' } },
        );
      try {
        await store.write(operations);
      } catch (error) {
        if (!(error instanceof ExpectationFailedError)) throw error;
        throw new AppError('not_found', 'A collection was deleted in the meantime. Nothing was changed.', {
          cause: error,
        });
      }
      return successResponse;
    });
  }

  /** Errors: 404 for an unknown collection or alias, 409 for an alias with the name of a collection. */
  #operationsOf(
    call: NameCall,
    { alias_name: name, collection_name: target }: AliasChange,
  ): WriteOperation[] {
    const { collections, clock } = this.#options;
    const { organizationId } = call.principal;
    const alias = collections.aliases.find(organizationId, name);
    const entry = this.#auditEntry(call, 'alias.changed', name, { collection: target ?? '' });
    if (target === null) {
      if (alias === undefined)
        throw new AppError('not_found', `The alias ${JSON.stringify(name)} does not exist.`);
      return [collections.aliases.delete(alias), entry];
    }
    if (collections.find(organizationId, name) !== undefined) throw nameTakenError(name);
    const collection = collections.resolve(organizationId, target);
    if (collection === undefined) throw collectionNotFoundError(target);
    const { collectionId } = collection;
    const createdAt = alias?.createdAt ?? clock.now();
    return [
      collections.expectExists(collectionId),
      collections.aliases.put({ organizationId, name, collectionId, createdAt }),
      entry,
    ];
  }

  #auditEntry(
    { principal, address }: NameCall,
    action: string,
    target: string,
    details: Readonly<Record<string, string>>,
  ): WriteOperation {
    const { organizationId } = principal;
    const actor = { actor: actorOf(principal), address: address() };
    return this.#options.audit.entryOperation({ organizationId, ...actor, action, target, details });
  }
}

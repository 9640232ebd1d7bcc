import { AppError } from '../core/app-error.ts';
import type { ModelReference } from '../core/model-reference.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { ChatModel } from './chat-model.ts';
import { toDimensions } from './dimensions.ts';
import { type ContractMode, hostedNames } from './hosted-names.ts';
import type { HttpEmbedder } from './http-embedder.ts';
import type { HttpReranker } from './http-reranker.ts';
import type { InstalledModel, LocalEmbedding, LocalReranker } from './local-model.ts';
import { formatModelLabel } from './model-label.ts';
import type { ModelProvider, ProviderHealth } from './model-provider.ts';
import { unlistedRerankers } from './registry.ts';

/** An embedding model available on this server. */
export interface EmbeddingCatalogEntry extends ModelReference {
  /** Components of a vector as the model outputs it. */
  readonly dimensions: number;
  /**
   * Backend of the model: the built-in model, which every worker knows; an added model, which is passed to
   * workers with each task; or an HTTP service.
   */
  readonly backend: 'built-in' | InstalledModel<LocalEmbedding> | HttpEmbedder;
}

/** A reranking model available on this server. Its version changes whenever the same texts may get another score. */
export interface RerankerCatalogEntry extends ModelReference {
  readonly backend: 'built-in' | InstalledModel<LocalReranker> | HttpReranker;
}

export type ListedModel = { readonly aliases: readonly string[] } & (
  | ({ readonly kind: 'embedding' } & EmbeddingCatalogEntry)
  | ({ readonly kind: 'reranker' } & RerankerCatalogEntry)
);

export interface ModelCatalogOptions {
  /** Embedding models. The first is the default for new collections. */
  readonly embeddings: readonly EmbeddingCatalogEntry[];
  readonly rerankers: readonly RerankerCatalogEntry[];
  /** Absent or null: none is configured. */
  readonly chat?: ChatModel | null;
  /** Aliases of models. An alias that equals a model id takes precedence over that id. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Models behind the names of the hosted service. */
  readonly contract: ContractMode;
  /**
   * Model of collections that store no model reference, because they were created before references were
   * stored.
   */
  readonly legacyEmbeddingId: string;
}

/**
 * Vector lengths offered for every embedding model, longest first. The values are those that existing clients
 * request.
 */
export const standardDimensions: readonly number[] = [2560, 1280, 640, 320, 160, 80, 40];
/**
 * Weight of the built-in reranker relative to the fused lexical and vector scores. Its uncertainty is close
 * to theirs: on six judged collections nDCG@10 was highest at 0.5 to 0.75 and fell below that of the fused
 * scores at 10. An added reranker is trained on human judgments and therefore dominates the ranking.
 */
export const builtInRerankWeight = 0.6;
const addedRerankWeight = 4;
/**
 * Retry interval of work that needs a missing model. It is long because only a configuration change can bring
 * the model back.
 */
const missingModelRetryMs = 15_000;

/** All embedding and reranking models by id and alias. */
export class ModelCatalog {
  #options: ModelCatalogOptions;

  constructor(options: ModelCatalogOptions) {
    this.#options = options;
    for (const [alias, id] of Object.entries(options.aliases)) {
      const known = [...options.embeddings, ...options.rerankers].some((model) => model.id === id);
      if (known) continue;
      const ids = [...options.embeddings, ...options.rerankers].map((model) => model.id).join(', ');
      throw new AppError(
        'invalid',
        `QUARRY_MODEL_ALIASES maps ${alias} to ${JSON.stringify(id)}, which does not exist. Available models: ${ids}.`,
      );
    }
  }

  /** Embedding model of new collections. */
  get defaultEmbedding(): EmbeddingCatalogEntry {
    return this.#options.embeddings[0]!;
  }

  /** All ids and aliases of embedding models. */
  get embeddingNames(): readonly string[] {
    return this.#listNames(this.#options.embeddings);
  }

  /** All ids and aliases of rerankers. */
  get rerankerNames(): readonly string[] {
    return this.#listNames(this.#options.rerankers);
  }

  /** Returns the embedding model with this id or alias. Errors: 404 that lists the known ones. */
  getEmbedding(name: string): EmbeddingCatalogEntry {
    return this.#find(this.#options.embeddings, 'embedding model', name);
  }

  /** Returns the embedding model with this id, even if an alias equals it. Errors: 404 that lists the known names. */
  getEmbeddingById(id: string): EmbeddingCatalogEntry {
    return this.#options.embeddings.find((model) => model.id === id) ?? this.getEmbedding(id);
  }

  getReranker(name: string): RerankerCatalogEntry {
    return this.#find(this.#options.rerankers, 'reranker', name);
  }

  /** Whether a name of the hosted service stands for a built-in model, which is not the model of that service. */
  isSubstitute(name: string): boolean {
    if (!hostedNames.has(name)) return false;
    const { embeddings, rerankers } = this.#options;
    return (this.#lookUp(embeddings, name) ?? this.#lookUp(rerankers, name))?.backend === 'built-in';
  }

  /** Whether model calls and queries cannot use this name, because only a built-in model would serve it. */
  isExcluded(name: string): boolean {
    return this.#options.contract !== 'builtin' && this.isSubstitute(name);
  }

  /** Checks the name of an embedding model in a model call. Errors: 404 if it is unknown or excluded. */
  checkEmbedding(name: string): void {
    this.#checkContract(name);
    this.getEmbedding(name);
  }

  /** Same as `checkEmbedding`, for a reranker. */
  checkReranker(name: string): void {
    this.#checkContract(name);
    this.getReranker(name);
  }

  #checkContract(name: string): void {
    if (!this.isExcluded(name)) return;
    throw new AppError(
      'not_found',
      `This server does not have the model ${name} of the hosted service, and does not replace it with a built-in model (QUARRY_CONTRACT_MODELS is "${this.#options.contract}"). To serve this name, the operator maps it to a model with QUARRY_MODEL_ALIASES.`,
    );
  }

  /** Returns `name@version` of the embedding model with this id or alias. Errors: 404. */
  describeEmbedding(name: string): string {
    return toLabel(this.getEmbedding(name));
  }

  /** Returns `name@version` of the reranker with this id or alias. Errors: 404. */
  describeReranker(name: string): string {
    return toLabel(this.getReranker(name));
  }

  /** Returns `name@version` of the model of a collection's vectors, even if it is not configured any more. */
  describeForCollection(reference: ModelReference | undefined): string {
    const { embeddings, legacyEmbeddingId } = this.#options;
    const id = reference?.id ?? legacyEmbeddingId;
    const model = embeddings.find((candidate) => candidate.id === id);
    const version = reference?.version ?? model?.version ?? '';
    return formatModelLabel({ id, version }, model?.backend === 'built-in');
  }

  /**
   * Returns the weight of the reranker's scores relative to first-stage scores, which have weight 1.
   * `familiarity`, 0 to 1, is how well the built-in models know the words of the query.
   */
  rerankWeight(name: string, familiarity: number): number {
    return this.getReranker(name).backend === 'built-in'
      ? builtInRerankWeight * familiarity
      : addedRerankWeight;
  }

  /**
   * Returns the model of a collection's vectors, in exactly the version that computed them: vectors of two
   * models are never compared. Errors: `ModelUnavailableError` if this version is not configured.
   */
  getForCollection(reference: ModelReference | undefined): EmbeddingCatalogEntry {
    const { embeddings, legacyEmbeddingId } = this.#options;
    const id = reference?.id ?? legacyEmbeddingId;
    const model = embeddings.find((candidate) => candidate.id === id);
    const retry = { retryAfterMs: missingModelRetryMs };
    if (model === undefined)
      throw new ModelUnavailableError(
        id,
        'the collection uses this model, but it is not configured on this server',
        retry,
      );
    if (reference !== undefined && reference.version !== model.version)
      throw new ModelUnavailableError(id, 'the collection uses another version of this model', retry);
    return model;
  }

  /**
   * Returns the model in a different version than `reference`, or null. Models behind HTTP services are
   * excluded, because re-embedding there may cost money.
   */
  findOtherVersion(reference: ModelReference): EmbeddingCatalogEntry | null {
    const model = this.#options.embeddings.find(({ id }) => id === reference.id);
    return model === undefined || isHttpBackend(model.backend) || model.version === reference.version
      ? null
      : model;
  }

  /**
   * Returns the number of components of the vectors for a caller: the requested number, or the default.
   * Errors: 400 if the number is not offered.
   */
  resolveDimensions(name: string, requested: number | null): number {
    const model = this.getEmbedding(name);
    const isBuiltInModel = name === this.#options.legacyEmbeddingId;
    const own = isHttpBackend(model.backend) ? model.backend.listDimensions(model.dimensions) : null;
    if (requested === null) return own === null && isBuiltInModel ? standardDimensions[0]! : model.dimensions;
    const offered = own ?? [...new Set([...standardDimensions, model.dimensions])].sort((a, b) => b - a);
    if (offered.includes(requested)) return requested;
    throw new AppError(
      'bad_request',
      `${name} does not support ${requested} dimensions. Supported: ${offered.join(', ')}.`,
    );
  }

  /** Returns a copy of a vector of this model with one of the numbers of components that it offers. */
  toDimensions(name: string, vector: Float32Array, dimensions: number): Float32Array {
    const { backend } = this.getEmbedding(name);
    const isOwn = isHttpBackend(backend) && backend.listDimensions(vector.length) !== null;
    return isOwn ? backend.shorten(vector, dimensions) : toDimensions(vector, dimensions);
  }

  /** Model that writes answers; null if none is configured. */
  get chat(): ChatModel | null {
    return this.#options.chat ?? null;
  }

  /** Returns the health of all HTTP services that run models. */
  listProviders(): (ProviderHealth & { readonly kind: 'embedding' | 'reranker' | 'chat' })[] {
    const { embeddings, rerankers } = this.#options;
    return [
      ...(this.chat === null ? [] : [{ ...this.chat.provider.health, kind: 'chat' as const }]),
      ...embeddings.flatMap(({ backend }) =>
        isHttpBackend(backend) ? [{ ...backend.provider.health, kind: 'embedding' as const }] : [],
      ),
      ...rerankers.flatMap(({ backend }) =>
        isHttpBackend(backend) ? [{ ...backend.provider.health, kind: 'reranker' as const }] : [],
      ),
    ];
  }

  /**
   * Replaces all added models by `installed`. Returns whether any model or version changed. The default model
   * of new collections remains even if its files were removed.
   */
  replaceAdded(installed: readonly InstalledModel[]): boolean {
    const { embeddings, rerankers } = this.#options;
    const known = [...embeddings, ...rerankers].flatMap(({ backend }) =>
      isInstalled(backend) ? [backend.model] : [],
    );
    const current = installed.map(({ model }) => model);
    if (describeVersions(known) === describeVersions(current)) return false;
    const [first] = embeddings;
    const isAdded = ({ backend }: EmbeddingCatalogEntry | RerankerCatalogEntry) => isInstalled(backend);
    const added = installed.flatMap(toEmbeddingEntries);
    const defaultEmbedding = added.find(({ id }) => id === first!.id) ?? first!;
    this.#options = {
      ...this.#options,
      embeddings: [
        defaultEmbedding,
        ...embeddings.filter((model) => model !== first && !isAdded(model)),
        ...added.filter((model) => model !== defaultEmbedding),
      ],
      rerankers: [...rerankers.filter((model) => !isAdded(model)), ...installed.flatMap(toRerankerEntries)],
    };
    return true;
  }

  /** Returns all models with their other names. */
  list(): ListedModel[] {
    const { embeddings, rerankers, aliases } = this.#options;
    const withAliases = <T extends { readonly id: string }>(model: T) => ({
      ...model,
      aliases: Object.keys(aliases).filter((alias) => aliases[alias] === model.id),
    });
    return [
      ...embeddings.map((model) => ({ kind: 'embedding' as const, ...withAliases(model) })),
      ...rerankers.map((model) => ({ kind: 'reranker' as const, ...withAliases(model) })),
    ];
  }

  /** Ids of the models added by `quarry models add`. */
  listAddedNames(): string[] {
    const { embeddings, rerankers } = this.#options;
    return [...embeddings, ...rerankers].flatMap(({ id, backend }) => (isInstalled(backend) ? [id] : []));
  }

  #listNames(models: readonly { readonly id: string }[]): string[] {
    const { aliases } = this.#options;
    const ids = models.map(({ id }) => id);
    const others = Object.keys(aliases).filter((alias) => ids.includes(aliases[alias]!));
    return [...new Set([...ids, ...others])];
  }

  /** An alias precedes the id that it equals; an unlisted name follows the alias of the name that it is another name of. */
  #lookUp<T extends { readonly id: string }>(models: readonly T[], name: string): T | undefined {
    const { aliases } = this.#options;
    const listed = Object.hasOwn(unlistedRerankers, name) ? unlistedRerankers[name]! : name;
    const ids = [aliases[name], name, aliases[listed], listed];
    for (const id of ids) {
      const model = models.find((candidate) => candidate.id === id);
      if (model !== undefined) return model;
    }
    return undefined;
  }

  #find<T extends { readonly id: string }>(models: readonly T[], kind: string, name: string): T {
    const model = this.#lookUp(models, name);
    if (model !== undefined) return model;
    throw new AppError(
      'not_found',
      `Unknown ${kind} ${JSON.stringify(name)}. Available: ${this.#listNames(models).join(', ')}.`,
    );
  }
}

/** Converts an added model to catalog entries; empty if the model is of the other kind. */
export function toEmbeddingEntries(installed: InstalledModel): EmbeddingCatalogEntry[] {
  const { model } = installed;
  if (model.kind !== 'embedding') return [];
  const { id, version, dimensions } = model;
  return [{ id, version, dimensions, backend: { ...installed, model } }];
}

export function toRerankerEntries(installed: InstalledModel): RerankerCatalogEntry[] {
  const { model } = installed;
  const { id, version } = model;
  return model.kind === 'reranker' ? [{ id, version, backend: { ...installed, model } }] : [];
}

function toLabel(model: EmbeddingCatalogEntry | RerankerCatalogEntry): string {
  return formatModelLabel(model, model.backend === 'built-in');
}

function describeVersions(models: readonly ModelReference[]): string {
  return models
    .map(({ id, version }) => `${id} ${version}`)
    .sort()
    .join('\n');
}

function isInstalled(
  backend: 'built-in' | InstalledModel | { readonly provider: ModelProvider },
): backend is InstalledModel {
  return backend !== 'built-in' && !('provider' in backend);
}

function isHttpBackend<Served extends { readonly provider: ModelProvider }>(
  backend: 'built-in' | InstalledModel | Served,
): backend is Served {
  return backend !== 'built-in' && 'provider' in backend;
}

import { AppError } from '../core/app-error.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { HttpEmbedder } from './http-embedder.ts';
import type { HttpReranker } from './http-reranker.ts';
import type { InstalledModel, LocalEmbedding, LocalReranker } from './local-model.ts';
import type { ModelProvider, ProviderHealth } from './model-provider.ts';

/** What a collection remembers of the model of its vectors. */
export interface ModelReference {
  readonly id: string;
  /** Changes whenever the same text may get another vector. */
  readonly version: string;
}

/** An embedding model of this server. */
export interface EmbeddingCatalogEntry extends ModelReference {
  /** Components of a vector as the model makes it. */
  readonly dimensions: number;
  /** What runs it: every worker knows the built-in one and is handed an added one, a service is asked over HTTP. */
  readonly backend: 'built-in' | InstalledModel<LocalEmbedding> | HttpEmbedder;
}

/** A reranking model of this server. */
export interface RerankerCatalogEntry {
  readonly id: string;
  readonly backend: 'built-in' | InstalledModel<LocalReranker> | HttpReranker;
}

export interface ModelCatalogOptions {
  /** The first is the model of new collections. */
  readonly embeddings: readonly EmbeddingCatalogEntry[];
  readonly rerankers: readonly RerankerCatalogEntry[];
  /** Other names of models; one that is a model's own name too stands for the other one. */
  readonly aliases: Readonly<Record<string, string>>;
  /** The model of collections that remember none, because they are older than the memory. */
  readonly legacyEmbeddingId: string;
}

/** Lengths of vectors that every embedding model is asked for, longest first: clients know these. */
export const standardDimensions: readonly number[] = [2560, 1280, 640, 320, 160, 80, 40];
/**
 * What a reranker counts beside the fused scores of words and meaning. The built-in one is nearly as unsure as these: on
 * six judged collections nDCG@10 rose most at .5 to .75, and fell below that of the fused scores at 10. One that somebody
 * brings along was trained on what people judged, and is meant to decide.
 */
export const builtInRerankWeight = 0.6;
const addedRerankWeight = 4;
/** How soon work that needs a model which is not there is tried again: somebody has to change the configuration. */
const missingModelRetryMs = 15_000;

/** Which models there are, by every name they have. */
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
        `modelAliases says that ${alias} stands for ${JSON.stringify(id)}, which is no model here; there are: ${ids}.`,
      );
    }
  }

  /** The model of new collections. */
  get defaultEmbedding(): EmbeddingCatalogEntry {
    return this.#options.embeddings[0]!;
  }

  /** Every name an embedding model can be called by. */
  get embeddingNames(): readonly string[] {
    return this.#listNames(this.#options.embeddings);
  }

  /** Every name a reranker can be called by. */
  get rerankerNames(): readonly string[] {
    return this.#listNames(this.#options.rerankers);
  }

  /** The embedding model of this name; an unknown one is a 404 that lists the known ones. */
  getEmbedding(name: string): EmbeddingCatalogEntry {
    return this.#find(this.#options.embeddings, 'embedding model', name);
  }

  getReranker(name: string): RerankerCatalogEntry {
    return this.#find(this.#options.rerankers, 'reranker', name);
  }

  /**
   * What its scores count beside those of the first stage, which count 1; `familiarity` is how well the built-in models
   * know the words of the query, 0 to 1.
   */
  rerankWeight(name: string, familiarity: number): number {
    return this.getReranker(name).backend === 'built-in'
      ? builtInRerankWeight * familiarity
      : addedRerankWeight;
  }

  /**
   * The model whose vectors a collection holds, in exactly the version that made them: vectors of two models are never
   * compared. `ModelUnavailable` when it is not there.
   */
  getForCollection(reference: ModelReference | undefined): EmbeddingCatalogEntry {
    const { embeddings, legacyEmbeddingId: firstEmbedding } = this.#options;
    const id = reference?.id ?? firstEmbedding;
    const model = embeddings.find((candidate) => candidate.id === id);
    const retry = { retryAfterMs: missingModelRetryMs };
    if (model === undefined)
      throw new ModelUnavailableError(
        id,
        'the collection was made with it and it is not configured here',
        retry,
      );
    if (reference !== undefined && reference.version !== model.version)
      throw new ModelUnavailableError(id, 'the collection was made with another version of it', retry);
    return model;
  }

  /** This model in another version, where it runs on this machine: vectors of a service may cost money. Else null. */
  findOtherVersion(reference: ModelReference): EmbeddingCatalogEntry | null {
    const model = this.#options.embeddings.find(({ id }) => id === reference.id);
    return model === undefined || isHttpBackend(model.backend) || model.version === reference.version
      ? null
      : model;
  }

  /** Components of the vectors a caller gets: those asked for, or the usual ones; a 400 when they are not offered. */
  resolveDimensions(name: string, requested: number | null): number {
    const model = this.getEmbedding(name);
    const isBuiltInModel = name === this.#options.legacyEmbeddingId;
    if (requested === null) return isBuiltInModel ? standardDimensions[0]! : model.dimensions;
    const offered = [...new Set([...standardDimensions, model.dimensions])].sort((a, b) => b - a);
    if (offered.includes(requested)) return requested;
    throw new AppError(
      'bad_request',
      `${name} has no vectors of ${requested} dimensions; it offers: ${offered.join(', ')}.`,
    );
  }

  /** How the services are that models are asked of. */
  listProviders(): (ProviderHealth & { readonly kind: 'embedding' | 'reranker' })[] {
    const { embeddings, rerankers } = this.#options;
    return [
      ...embeddings.flatMap(({ backend: runs }) =>
        isHttpBackend(runs) ? [{ ...runs.provider.health, kind: 'embedding' as const }] : [],
      ),
      ...rerankers.flatMap(({ backend: runs }) =>
        isHttpBackend(runs) ? [{ ...runs.provider.health, kind: 'reranker' as const }] : [],
      ),
    ];
  }

  /**
   * Takes these for the models that were added, in place of those it knew. Answers whether any is another. The model of
   * new collections stays, whatever becomes of its files.
   */
  replaceAdded(installed: readonly InstalledModel[]): boolean {
    const { embeddings, rerankers } = this.#options;
    const known = [...embeddings, ...rerankers].flatMap(({ backend: runs }) =>
      isInstalled(runs) ? [runs.model] : [],
    );
    const current = installed.map(({ model }) => model);
    if (describeVersions(known) === describeVersions(current)) return false;
    const [first] = embeddings;
    const isAdded = ({ backend: runs }: EmbeddingCatalogEntry | RerankerCatalogEntry) => isInstalled(runs);
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

  /** Names of the models that `quarry models add` added. */
  listAddedNames(): string[] {
    const { embeddings, rerankers } = this.#options;
    return [...embeddings, ...rerankers].flatMap(({ id, backend: runs }) => (isInstalled(runs) ? [id] : []));
  }

  #listNames(models: readonly { readonly id: string }[]): string[] {
    const { aliases } = this.#options;
    const ids = models.map(({ id }) => id);
    const others = Object.keys(aliases).filter((alias) => ids.includes(aliases[alias]!));
    return [...new Set([...ids, ...others])];
  }

  #find<T extends { readonly id: string }>(models: readonly T[], kind: string, name: string): T {
    const { aliases } = this.#options;
    const id = Object.hasOwn(aliases, name) ? aliases[name] : name;
    const model =
      models.find((candidate) => candidate.id === id) ?? models.find((candidate) => candidate.id === name);
    if (model !== undefined) return model;
    throw new AppError(
      'not_found',
      `There is no ${kind} ${JSON.stringify(name)}; the available ones are: ${this.#listNames(models).join(', ')}.`,
    );
  }
}

/** The entries of added models. */
export function toEmbeddingEntries(installed: InstalledModel): EmbeddingCatalogEntry[] {
  const { model } = installed;
  if (model.kind !== 'embedding') return [];
  const { id, version, dimensions } = model;
  return [{ id, version, dimensions, backend: { ...installed, model } }];
}

export function toRerankerEntries(installed: InstalledModel): RerankerCatalogEntry[] {
  const { model } = installed;
  return model.kind === 'reranker' ? [{ id: model.id, backend: { ...installed, model } }] : [];
}

function describeVersions(models: readonly { readonly id: string; readonly version: string }[]): string {
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

import { AppError } from '../base/app-error.ts';
import { ModelUnavailable } from '../base/model-unavailable.ts';
import type { HttpEmbedder } from './http-embedder.ts';
import type { HttpReranker } from './http-reranker.ts';
import type { LocalEmbedding, LocalReranker, PlacedModel } from './local-model.ts';
import type { Provider, ProviderHealth } from './provider.ts';

/** What a collection remembers of the model of its vectors. */
export interface ModelMark {
  readonly id: string;
  /** Changes whenever the same text may get another vector. */
  readonly version: string;
}

/** An embedding model of this server. */
export interface CataloguedEmbedding extends ModelMark {
  /** Components of a vector as the model makes it. */
  readonly dimensions: number;
  /** What runs it: every worker knows the built-in one and is handed an added one, a service is asked over HTTP. */
  readonly runs: 'built-in' | PlacedModel<LocalEmbedding> | HttpEmbedder;
}

/** A reranking model of this server. */
export interface CataloguedReranker {
  readonly id: string;
  readonly runs: 'built-in' | PlacedModel<LocalReranker> | HttpReranker;
}

export interface CatalogueOptions {
  /** The first is the model of new collections. */
  readonly embeddings: readonly CataloguedEmbedding[];
  readonly rerankers: readonly CataloguedReranker[];
  /** Other names of models; one that is a model's own name too stands for the other one. */
  readonly aliases: Readonly<Record<string, string>>;
  /** The model of collections that remember none, because they are older than the memory. */
  readonly firstEmbedding: string;
}

/** Lengths of vectors that every embedding model is asked for, longest first: clients know these. */
export const contractDimensions: readonly number[] = [2560, 1280, 640, 320, 160, 80, 40];
/**
 * What a reranker counts beside the fused scores of words and meaning. The built-in one is nearly as unsure as these: on
 * six judged collections nDCG@10 rose most at .5 to .75, and fell below that of the fused scores at 10. One that somebody
 * brings along was trained on what people judged, and is meant to decide.
 */
export const builtInRerankWeight = 0.6;
const ownRerankWeight = 4;
/** How soon work that needs a model which is not there is tried again: somebody has to change the configuration. */
const absentRetryMs = 15_000;

/** Which models there are, by every name they have. */
export class ModelCatalogue {
  #options: CatalogueOptions;

  constructor(options: CatalogueOptions) {
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
  get embeddingDefault(): CataloguedEmbedding {
    return this.#options.embeddings[0]!;
  }

  /** Every name an embedding model can be called by. */
  get embeddingNames(): readonly string[] {
    return this.#names(this.#options.embeddings);
  }

  /** Every name a reranker can be called by. */
  get rerankerNames(): readonly string[] {
    return this.#names(this.#options.rerankers);
  }

  /** The embedding model of this name; an unknown one is a 404 that lists the known ones. */
  embedding(name: string): CataloguedEmbedding {
    return this.#find(this.#options.embeddings, 'embedding model', name);
  }

  reranker(name: string): CataloguedReranker {
    return this.#find(this.#options.rerankers, 'reranker', name);
  }

  /**
   * What its scores count beside those of the first stage, which count 1; `familiarity` is how well the built-in models
   * know the words of the query, 0 to 1.
   */
  rerankWeight(name: string, familiarity: number): number {
    return this.reranker(name).runs === 'built-in' ? builtInRerankWeight * familiarity : ownRerankWeight;
  }

  /**
   * The model whose vectors a collection holds, in exactly the version that made them: vectors of two models are never
   * compared. `ModelUnavailable` when it is not there.
   */
  ofCollection(mark: ModelMark | undefined): CataloguedEmbedding {
    const { embeddings, firstEmbedding } = this.#options;
    const id = mark?.id ?? firstEmbedding;
    const model = embeddings.find((candidate) => candidate.id === id);
    const retry = { retryAfterMs: absentRetryMs };
    if (model === undefined)
      throw new ModelUnavailable(id, 'the collection was made with it and it is not configured here', retry);
    if (mark !== undefined && mark.version !== model.version)
      throw new ModelUnavailable(id, 'the collection was made with another version of it', retry);
    return model;
  }

  /** This model in another version, where it runs on this machine: vectors of a service may cost money. Else null. */
  renewed(mark: ModelMark): CataloguedEmbedding | null {
    const model = this.#options.embeddings.find(({ id }) => id === mark.id);
    return model === undefined || isServed(model.runs) || model.version === mark.version ? null : model;
  }

  /** Components of the vectors a caller gets: those asked for, or the usual ones; a 400 when they are not offered. */
  dimensionsOf(name: string, asked: number | null): number {
    const model = this.embedding(name);
    const isContract = name === this.#options.firstEmbedding;
    if (asked === null) return isContract ? contractDimensions[0]! : model.dimensions;
    const offered = [...new Set([...contractDimensions, model.dimensions])].sort((a, b) => b - a);
    if (offered.includes(asked)) return asked;
    throw new AppError(
      'bad_request',
      `${name} has no vectors of ${asked} dimensions; it offers: ${offered.join(', ')}.`,
    );
  }

  /** How the services are that models are asked of. */
  providers(): (ProviderHealth & { readonly kind: 'embedding' | 'reranker' })[] {
    const { embeddings, rerankers } = this.#options;
    return [
      ...embeddings.flatMap(({ runs }) =>
        isServed(runs) ? [{ ...runs.provider.health, kind: 'embedding' as const }] : [],
      ),
      ...rerankers.flatMap(({ runs }) =>
        isServed(runs) ? [{ ...runs.provider.health, kind: 'reranker' as const }] : [],
      ),
    ];
  }

  /**
   * Takes these for the models that were added, in place of those it knew. Answers whether any is another. The model of
   * new collections stays, whatever becomes of its files.
   */
  replaceAdded(placed: readonly PlacedModel[]): boolean {
    const { embeddings, rerankers } = this.#options;
    const known = [...embeddings, ...rerankers].flatMap(({ runs }) => (isPlaced(runs) ? [runs.model] : []));
    const now = placed.map(({ model }) => model);
    if (listOf(known) === listOf(now)) return false;
    const [first] = embeddings;
    const isOld = ({ runs }: CataloguedEmbedding | CataloguedReranker) => isPlaced(runs);
    const made = placed.flatMap(embeddingsOf);
    const usual = made.find(({ id }) => id === first!.id) ?? first!;
    this.#options = {
      ...this.#options,
      embeddings: [
        usual,
        ...embeddings.filter((model) => model !== first && !isOld(model)),
        ...made.filter((model) => model !== usual),
      ],
      rerankers: [...rerankers.filter((model) => !isOld(model)), ...placed.flatMap(rerankersOf)],
    };
    return true;
  }

  /** Names of the models that `quarry models add` added. */
  added(): string[] {
    const { embeddings, rerankers } = this.#options;
    return [...embeddings, ...rerankers].flatMap(({ id, runs }) => (isPlaced(runs) ? [id] : []));
  }

  #names(models: readonly { readonly id: string }[]): string[] {
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
      `There is no ${kind} ${JSON.stringify(name)}; the available ones are: ${this.#names(models).join(', ')}.`,
    );
  }
}

/** The entries of added models. */
export function embeddingsOf(placed: PlacedModel): CataloguedEmbedding[] {
  const { model } = placed;
  if (model.kind !== 'embedding') return [];
  const { id, version, dimensions } = model;
  return [{ id, version, dimensions, runs: { ...placed, model } }];
}

export function rerankersOf(placed: PlacedModel): CataloguedReranker[] {
  const { model } = placed;
  return model.kind === 'reranker' ? [{ id: model.id, runs: { ...placed, model } }] : [];
}

function listOf(models: readonly { readonly id: string; readonly version: string }[]): string {
  return models
    .map(({ id, version }) => `${id} ${version}`)
    .sort()
    .join('\n');
}

function isPlaced(runs: 'built-in' | PlacedModel | { readonly provider: Provider }): runs is PlacedModel {
  return runs !== 'built-in' && !('provider' in runs);
}

function isServed<Served extends { readonly provider: Provider }>(
  runs: 'built-in' | PlacedModel | Served,
): runs is Served {
  return runs !== 'built-in' && 'provider' in runs;
}

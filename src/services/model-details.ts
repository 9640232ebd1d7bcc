import type { LatencySummary } from '../models/model-latencies.ts';
import type { ModelDetails } from '../schemas/models.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { Collections } from '../storage/collections.ts';
import { listVisibleCollections } from './collections.ts';

/** A model of the server; implemented in `app/models`. */
export interface DescribedModel {
  readonly id: string;
  readonly kind: ModelDetails['kind'];
  readonly source: ModelDetails['source'];
  /** Null for rerankers. */
  readonly dimensions: number | null;
  readonly aliases: readonly string[];
  /** Whether requests to its service succeed; true for models that run in the server. */
  readonly isAvailable: boolean;
  readonly latency: LatencySummary | null;
}

interface ModelDetailsOptions {
  readonly models: readonly DescribedModel[];
  readonly defaultModels: readonly (string | null)[];
  /** Model of collections without a stored model. */
  readonly legacyModel: string;
  readonly collections: Pick<Collections, 'list'>;
  readonly principal: OrganizationPrincipal;
}

/** Describes all models, with the collections of the caller that use them. */
export async function describeModels(options: ModelDetailsOptions): Promise<ModelDetails[]> {
  const { models, defaultModels, legacyModel, collections, principal } = options;
  const names = new Map<string, string[]>();
  // Collections with vectors of the caller name a model that does not exist.
  for (const { name, model } of await listVisibleCollections(collections, principal)) {
    const id = model?.id ?? legacyModel;
    names.set(id, [...(names.get(id) ?? []), name]);
  }
  return models.map(({ id, kind, source, dimensions, aliases, isAvailable, latency }) => ({
    id,
    kind,
    source,
    dimensions,
    aliases: [...aliases],
    is_default: defaultModels.includes(id),
    is_available: isAvailable,
    latency:
      latency === null
        ? null
        : {
            calls: latency.calls,
            p50_ms: latency.p50Ms,
            p95_ms: latency.p95Ms,
            p99_ms: latency.p99Ms,
          },
    collection_names: kind === 'embedding' ? (names.get(id) ?? []) : [],
  }));
}

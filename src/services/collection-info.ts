import { toTimestamp } from '../core/timestamps.ts';
import type { CollectionInfo } from '../schemas/collections.ts';
import type { Collection } from '../storage/collections.ts';

/**
 * `defaultModel`: id of the model of collections without a stored one. `showsPaths`: whether the caller may read all
 * documents, and so their paths.
 */
export function describeCollection(
  {
    collectionId,
    name,
    createdAt,
    shards,
    model,
    dimensions,
    queryDefaults,
    defaultTtlSeconds,
    metadataSchema,
    synonyms,
    stopWords,
    curations,
    historyDays,
  }: Collection,
  { defaultModel, showsPaths }: { readonly defaultModel: string; readonly showsPaths: boolean },
): CollectionInfo {
  return {
    id: collectionId,
    collection_name: name,
    created_at: toTimestamp(createdAt),
    num_shards: shards,
    embedding_model: model?.id ?? defaultModel,
    dimensions,
    ...(queryDefaults === undefined ? {} : { query_defaults: queryDefaults }),
    ...(defaultTtlSeconds === undefined ? {} : { default_ttl_seconds: defaultTtlSeconds }),
    ...(metadataSchema === undefined ? {} : { metadata_schema: metadataSchema }),
    ...(synonyms === undefined ? {} : { synonyms }),
    ...(stopWords === undefined ? {} : { stop_words: stopWords }),
    ...(curations === undefined || !showsPaths ? {} : { curations }),
    ...(historyDays === undefined ? {} : { history_days: historyDays }),
  };
}

import type { Curations } from '../schemas/curations.ts';
import type { MetadataSchema } from '../schemas/metadata-schema.ts';
import type { QueryDefaults } from '../schemas/queries.ts';
import type { StopWords } from '../schemas/stop-words.ts';
import type { Synonyms } from '../schemas/synonyms.ts';

/** Fields of a collection that can be changed; absent for none. */
export interface ChangeableSettings {
  /** Default options of its queries. */
  readonly queryDefaults?: QueryDefaults;
  /** Seconds after which its documents expire by default; absent: never. */
  readonly defaultTtlSeconds?: number;
  /** Types of metadata fields. */
  readonly metadataSchema?: MetadataSchema;
  /** Lists of words with the same meaning. */
  readonly synonyms?: Synonyms;
  /** Words that lexical search ignores, in addition to those of the languages. */
  readonly stopWords?: StopWords;
  /** Rules that pin and hide documents in the results of certain queries. */
  readonly curations?: Curations;
  /** Days for which replaced and deleted versions are kept; absent: they are not kept. */
  readonly historyDays?: number;
}

/** Record of the settings of a collection after a change: they replace all those of its creation. */
export type StoredSettings = Omit<ChangeableSettings, 'queryDefaults'> & {
  readonly queryDefaults: QueryDefaults | null;
};

const settingNames: Readonly<Record<keyof ChangeableSettings, true>> = {
  queryDefaults: true,
  defaultTtlSeconds: true,
  metadataSchema: true,
  synonyms: true,
  stopWords: true,
  curations: true,
  historyDays: true,
};

/** Returns the collection with these settings instead of its own. */
export function replaceSettings<Collection extends ChangeableSettings>(
  collection: Collection,
  { queryDefaults, ...others }: StoredSettings,
): Collection {
  const rest = Object.entries(collection).filter(([name]) => !Object.hasOwn(settingNames, name));
  return {
    ...(Object.fromEntries(rest) as Collection),
    ...(queryDefaults === null ? {} : { queryDefaults }),
    ...others,
  };
}

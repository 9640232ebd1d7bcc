import { limits } from '../core/limits.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { UpdateCollectionRequest } from '../schemas/collections.ts';
import type { CommandOptions, OptionSpec } from './command.ts';
import { integerOption, jsonArrayOption, jsonObjectOption } from './option-values.ts';

/** Settings of a collection other than the defaults of its queries. */
type Settings = Omit<UpdateCollectionRequest, 'collection_name' | 'query_defaults'>;

/** Options of the settings, for a new collection. */
export const newSettingOptions: readonly OptionSpec[] = [
  { flags: '--default-ttl <seconds>', meaning: 'documents expire after this time by default' },
  {
    flags: '--metadata-schema <json>',
    meaning: 'types of metadata fields: string, number, boolean, date, geo',
  },
  {
    flags: '--synonyms <words>',
    meaning: 'words with the same meaning, separated by commas; repeat for more lists',
    isRepeatable: true,
  },
  {
    flags: '--stop-words <words>',
    meaning: 'words that lexical search ignores, separated by commas',
    isRepeatable: true,
  },
  {
    flags: '--curations <json>',
    meaning: 'pinned and hidden documents of queries: [{"queries": [...], "pinned": [...], "hidden": [...]}]',
  },
  { flags: '--history-days <days>', meaning: 'keep replaced and deleted versions for queries with --as-of' },
];

/** Options of the settings, for an existing collection. */
export const changedSettingOptions: readonly OptionSpec[] = [
  {
    flags: '--default-ttl <seconds>',
    meaning: 'new documents expire after this time by default; 0: never',
  },
  {
    flags: '--metadata-schema <json>',
    meaning: 'types of metadata fields; {}: none',
  },
  {
    flags: '--synonyms <words>',
    meaning: 'lists of synonyms, as for add; "": none',
    isRepeatable: true,
  },
  {
    flags: '--stop-words <words>',
    meaning: 'stop words, as for add; "": none',
    isRepeatable: true,
  },
  {
    flags: '--curations <json>',
    meaning: 'all curations, as for add; []: none',
  },
  {
    flags: '--history-days <days>',
    meaning: 'keep replaced and deleted versions; 0 deletes them',
  },
];

/**
 * Returns the settings that the options name. `ttlMin`: 1, or 0 where 0 removes a setting. Errors: AppError
 * `bad_request` for an invalid value.
 */
export function readSettings(options: CommandOptions, { ttlMin }: { readonly ttlMin: 0 | 1 }): Settings {
  const { defaultTtl, synonyms, stopWords, historyDays } = options;
  const schema = jsonObjectOption(options, 'metadataSchema');
  const curations = jsonArrayOption(options, 'curations');
  const ttlBounds = { minimum: ttlMin, maximum: limits.ttlSecondsMax };
  const historyBounds = { minimum: ttlMin, maximum: queryLimits.historyDaysMax };
  const lists = (synonyms as readonly string[] | undefined)?.map(toWords);
  return {
    ...(defaultTtl === undefined
      ? {}
      : { default_ttl_seconds: integerOption(options, 'defaultTtl', ttlBounds) || null }),
    ...(historyDays === undefined
      ? {}
      : { history_days: integerOption(options, 'historyDays', historyBounds) || null }),
    ...(schema === null ? {} : { metadata_schema: schema as NonNullable<Settings['metadata_schema']> }),
    ...(lists === undefined ? {} : { synonyms: lists.filter((words) => words.length > 0) }),
    ...(stopWords === undefined ? {} : { stop_words: (stopWords as readonly string[]).flatMap(toWords) }),
    // The server checks the fields.
    ...(curations === null ? {} : { curations: curations as NonNullable<Settings['curations']> }),
  };
}

/** Returns a line for each setting. */
export function describeSettings(name: string, settings: Settings): string[] {
  const { default_ttl_seconds: ttl, metadata_schema: types, synonyms, stop_words: stopWords } = settings;
  const { curations, history_days: days } = settings;
  return [
    ...(ttl === undefined ? [] : [`Default time to live of ${name}: ${ttl === null ? 'none' : `${ttl} s`}`]),
    ...(types === undefined ? [] : [`Metadata schema of ${name}: ${JSON.stringify(types)}`]),
    ...(synonyms === undefined ? [] : [`Synonyms of ${name}: ${JSON.stringify(synonyms)}`]),
    ...(stopWords === undefined ? [] : [`Stop words of ${name}: ${JSON.stringify(stopWords)}`]),
    ...(curations === undefined ? [] : [`Curations of ${name}: ${JSON.stringify(curations)}`]),
    ...(days === undefined ? [] : [`History of ${name}: ${days === null ? 'none' : `${days} days`}`]),
  ];
}

function toWords(list: string): string[] {
  return list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

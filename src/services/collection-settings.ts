import type { UpdateCollectionRequest } from '../schemas/collections.ts';
import type { ChangeableSettings } from '../storage/collection-settings.ts';
import { checkCuratedQueries } from './curations.ts';
import { pickKnownDefaults } from './query-defaults.ts';

/** Settings of a request. Null and empty values remove a setting, absent ones do not change it. */
type SettingChanges = Omit<UpdateCollectionRequest, 'collection_name'>;

const settingNames: readonly (keyof SettingChanges)[] = [
  'query_defaults',
  'default_ttl_seconds',
  'metadata_schema',
  'synonyms',
  'stop_words',
  'curations',
  'history_days',
];

/** Whether a request changes a setting. */
export function hasSettings(changes: SettingChanges): boolean {
  return settingNames.some((name) => changes[name] !== undefined);
}

/** Returns the settings after the changes. Errors: 400 for a query of several curations, or one without words. */
export function changeSettings(known: ChangeableSettings, changes: SettingChanges): ChangeableSettings {
  const {
    query_defaults: defaults,
    default_ttl_seconds,
    metadata_schema,
    synonyms,
    stop_words,
    curations,
    history_days,
  } = changes;
  checkCuratedQueries(curations ?? []);
  const picked = defaults == null ? defaults : pickKnownDefaults(defaults);
  return {
    ...toSetting('queryDefaults', known.queryDefaults, picked),
    ...toSetting('defaultTtlSeconds', known.defaultTtlSeconds, default_ttl_seconds),
    ...toSetting('metadataSchema', known.metadataSchema, metadata_schema),
    ...toSetting('synonyms', known.synonyms, synonyms),
    ...toSetting('stopWords', known.stopWords, stop_words),
    ...toSetting('curations', known.curations, curations),
    ...toSetting('historyDays', known.historyDays, history_days),
  };
}

/** Returns an object with the setting, or an empty one if it has no value. */
function toSetting<Name extends keyof ChangeableSettings>(
  name: Name,
  known: ChangeableSettings[Name],
  change: ChangeableSettings[Name] | null,
): Pick<ChangeableSettings, Name> | object {
  const isUnset = change === null || (typeof change === 'object' && Object.keys(change).length === 0);
  const value = isUnset ? undefined : (change ?? known);
  return value === undefined ? {} : { [name]: value };
}

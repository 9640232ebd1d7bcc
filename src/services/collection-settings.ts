import type { UpdateCollectionRequest } from '../schemas/collections.ts';
import type { CollectionSettings } from '../storage/collection-settings.ts';
import { pickKnownDefaults } from './query-defaults.ts';

/** Settings of a request. Null and empty values remove a setting, absent ones do not change it. */
type SettingChanges = Omit<UpdateCollectionRequest, 'collection_name'>;

/** Whether a request changes a setting. */
export function hasSettings(changes: SettingChanges): boolean {
  const { query_defaults, default_ttl_seconds, metadata_schema, synonyms, stop_words } = changes;
  const all: readonly unknown[] = [
    query_defaults,
    default_ttl_seconds,
    metadata_schema,
    synonyms,
    stop_words,
  ];
  return all.some((change) => change !== undefined);
}

/** Returns the settings after the changes. */
export function changeSettings(known: CollectionSettings, changes: SettingChanges): CollectionSettings {
  const { query_defaults: defaults, default_ttl_seconds, metadata_schema, synonyms, stop_words } = changes;
  const picked = defaults == null ? defaults : pickKnownDefaults(defaults);
  return {
    ...toSetting('queryDefaults', known.queryDefaults, picked),
    ...toSetting('defaultTtlSeconds', known.defaultTtlSeconds, default_ttl_seconds),
    ...toSetting('metadataSchema', known.metadataSchema, metadata_schema),
    ...toSetting('synonyms', known.synonyms, synonyms),
    ...toSetting('stopWords', known.stopWords, stop_words),
  };
}

/** Returns an object with the setting, or an empty one if it has no value. */
function toSetting<Name extends keyof CollectionSettings>(
  name: Name,
  known: CollectionSettings[Name],
  change: CollectionSettings[Name] | null,
): Pick<CollectionSettings, Name> | object {
  const isUnset = change === null || (typeof change === 'object' && Object.keys(change).length === 0);
  const value = isUnset ? undefined : (change ?? known);
  return value === undefined ? {} : { [name]: value };
}

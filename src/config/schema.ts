import { backupSettings } from './schema/backup.ts';
import { clientSettings } from './schema/client.ts';
import { clusterSettings } from './schema/cluster.ts';
import { marketplaceSettings } from './schema/marketplaces.ts';
import { modelSettings } from './schema/models.ts';
import { parsingSettings } from './schema/parsing.ts';
import { paymentSettings } from './schema/payments.ts';
import { resourceSettings } from './schema/resources.ts';
import { serverSettings } from './schema/server.ts';
import { sourceSettings } from './schema/sources.ts';
import { threadSettings } from './schema/threads.ts';
import { tierSettings } from './schema/tiers.ts';
import { tracingSettings } from './schema/tracing.ts';
import { webhookSettings } from './schema/webhooks.ts';
import type { Setting, SettingValue } from './setting.ts';

/**
 * All settings of Quarry; the only source of their types, bounds, defaults and descriptions. A property
 * `uploadBytesMax` is the variable QUARRY_UPLOAD_BYTES_MAX, the flag --upload-bytes-max and the key
 * "uploadBytesMax" of the file. To add a setting, add a line to its group in `schema`.
 */
const settingTable = {
  ...serverSettings,
  ...resourceSettings,
  ...backupSettings,
  ...clusterSettings,
  ...sourceSettings,
  ...webhookSettings,
  ...tracingSettings,
  ...threadSettings,
  ...parsingSettings,
  ...modelSettings,
  ...tierSettings,
  ...paymentSettings,
  ...marketplaceSettings,
  ...clientSettings,
} satisfies Record<string, Setting>;

export type SettingName = keyof typeof settingTable;
export type Settings = { readonly [name in SettingName]: SettingValue<(typeof settingTable)[name]> };

export const settingNames = Object.keys(settingTable) as SettingName[];

export function findSetting(name: SettingName): Setting {
  return settingTable[name];
}

/** Returns the environment variable of a setting: QUARRY_UPLOAD_BYTES_MAX for `uploadBytesMax`. */
export function variableName(name: string): string {
  return `QUARRY_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Returns the flag of a setting: --upload-bytes-max for `uploadBytesMax`. */
export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

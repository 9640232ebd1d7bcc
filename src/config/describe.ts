import { findSetting, flagName, type SettingName, settingNames, variableName } from './schema.ts';
import type { LoadedSettings, SettingOrigin } from './settings.ts';
import { describeAllowedValues } from './value.ts';

/** One setting as `quarry config` shows it. */
export interface SettingDescription {
  readonly name: SettingName;
  readonly variable: string;
  readonly flag: string;
  /** Masked if the setting is a secret. */
  readonly value: unknown;
  readonly source: SettingOrigin;
  readonly meaning: string;
  readonly unit: string | null;
  readonly allowed: string;
  /** Default value, or a description of how it is derived. */
  readonly default: unknown;
}

/** Titles of sections by their first setting, in schema order. */
export const settingSections: Readonly<Partial<Record<SettingName, string>>> = {
  port: 'Server, accounts and email',
  data: 'Data, memory and queries',
  parseThreads: 'Threads, search and parsing',
  reranker: 'Models',
  freeBytesPerMinuteFast: 'Tiers',
  stripeSecretKey: 'Payments',
  awsMarketplace: 'Marketplaces',
  url: 'Command line',
};

/** Describes all settings in schema order. */
export function describeSettings(loaded: LoadedSettings): SettingDescription[] {
  return settingNames.map((name) => {
    const setting = findSetting(name);
    const value = loaded.settings[name];
    return {
      name,
      variable: variableName(name),
      flag: flagName(name),
      value: setting.secret === true && value !== null ? maskSecret(String(value)) : value,
      source: loaded.origins[name],
      meaning: setting.meaning,
      unit: setting.unit ?? null,
      allowed: describeAllowedValues(name),
      default: setting.defaultMeaning ?? setting.default,
    };
  });
}

/** Masks a secret: enough remains to recognize a key, too little to use it. */
function maskSecret(secret: string): string {
  return `${secret.slice(0, 4)}…${'*'.repeat(4)}`;
}

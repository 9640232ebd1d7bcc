import { findSetting, type SettingName } from './schema.ts';
import { type IntegerSetting, isAllowedValue, type Setting } from './setting.ts';

/** Result of parsing one setting: an allowed value, or failure. */
export type ParsedValue = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

const byteUnits: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

/**
 * Parses the value of `name` from a flag, a variable or the file. Flags and variables are strings; the file
 * has any JSON.
 */
export function parseValue(name: SettingName, raw: unknown): ParsedValue {
  const setting = findSetting(name);
  const value = typeof raw === 'string' ? parseText(setting, raw) : raw;
  if (!isAllowedValue(setting, value)) return { ok: false };
  return {
    ok: true,
    value: isUrlSetting(name) ? ((value as string | null)?.replace(/\/+$/, '') ?? null) : value,
  };
}

/** Returns the allowed values of `name`, phrased as the end of a sentence. */
export function describeAllowedValues(name: SettingName): string {
  const setting = findSetting(name);
  if (setting.allowed !== undefined) return setting.allowed;
  if (setting.kind === 'whole') return describeIntegerRange(setting);
  if (setting.kind === 'switch') return 'true or false';
  if (setting.kind === 'choice') return joinAlternatives(setting.values);
  return 'a non-empty string';
}

const urlSettings: ReadonlySet<SettingName> = new Set([
  'baseUrl',
  'url',
  'embeddingUrl',
  'zembed1Url',
  'rerankUrl',
  'zerank2Url',
  'chatUrl',
]);

function isUrlSetting(name: SettingName): boolean {
  return urlSettings.has(name);
}

function parseText(setting: Setting, text: string): unknown {
  if (setting.kind === 'whole') return parseInteger(text, setting.unit === 'bytes');
  if (setting.kind === 'switch')
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text;
  return text;
}

/**
 * Parses a whole number, e.g. 200000000; for byte settings also 200MB (powers of 1000) and 200MiB (powers of
 * 1024).
 */
function parseInteger(text: string, allowByteUnits: boolean): unknown {
  if (/^\d{1,16}$/.test(text)) return Number(text);
  const parts = allowByteUnits ? /^(\d{1,9}(?:\.\d{1,3})?) ?([KMGT]i?B)$/i.exec(text) : null;
  const factor = parts === null ? undefined : byteUnits[parts[2]!.toUpperCase()];
  return factor === undefined ? text : Math.round(Number(parts![1]) * factor);
}

function describeIntegerRange({ minimum, maximum, unit }: IntegerSetting): string {
  const range = `a whole number from ${minimum} to ${maximum}`;
  if (unit === undefined) return range;
  return unit === 'bytes'
    ? `${range} (bytes); units such as 200MB or 200MiB are accepted`
    : `${range} (${unit})`;
}

function joinAlternatives(alternatives: readonly string[]): string {
  return alternatives.length === 1
    ? alternatives[0]!
    : `${alternatives.slice(0, -1).join(', ')} or ${alternatives.at(-1)}`;
}

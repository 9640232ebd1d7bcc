import { type SettingName, settingOf } from './schema.ts';
import { allows, type Setting, type WholeSetting } from './setting.ts';

/** Outcome of reading one setting: a value it allows, or that there is none. */
export type ValueReading = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

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

/** Reads what a flag, a variable or the file gave for `name`. Flags and variables give text, the file any JSON. */
export function readValue(name: SettingName, raw: unknown): ValueReading {
  const setting = settingOf(name);
  const value = typeof raw === 'string' ? fromText(setting, raw) : raw;
  if (!allows(setting, value)) return { ok: false };
  return {
    ok: true,
    value: isAddress(name) ? ((value as string | null)?.replace(/\/+$/, '') ?? null) : value,
  };
}

/** What is allowed for `name`, as the end of a sentence. */
export function allowedValues(name: SettingName): string {
  const setting = settingOf(name);
  if (setting.allowed !== undefined) return setting.allowed;
  if (setting.kind === 'whole') return wholeWords(setting);
  if (setting.kind === 'switch') return 'true or false';
  if (setting.kind === 'choice') return oneOf(setting.values);
  return 'a text that is not empty';
}

function isAddress(name: SettingName): boolean {
  return name === 'baseUrl' || name === 'url' || name === 'embeddingUrl' || name === 'rerankUrl';
}

function fromText(setting: Setting, text: string): unknown {
  if (setting.kind === 'whole') return integerFromText(text, setting.unit === 'bytes');
  if (setting.kind === 'switch')
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text;
  return text;
}

/** 200000000, or where bytes are meant also 200MB (powers of 1000) and 200MiB (powers of 1024). */
function integerFromText(text: string, allowByteUnits: boolean): unknown {
  if (/^\d{1,16}$/.test(text)) return Number(text);
  const parts = allowByteUnits ? /^(\d{1,9}(?:\.\d{1,3})?) ?([KMGT]i?B)$/i.exec(text) : null;
  const factor = parts === null ? undefined : byteUnits[parts[2]!.toUpperCase()];
  return factor === undefined ? text : Math.round(Number(parts![1]) * factor);
}

function wholeWords({ minimum, maximum, unit }: WholeSetting): string {
  const range = `a whole number from ${minimum} to ${maximum}`;
  if (unit === undefined) return range;
  return unit === 'bytes' ? `${range} (bytes), also as 200MB or 200MiB` : `${range} (${unit})`;
}

function oneOf(words: readonly string[]): string {
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

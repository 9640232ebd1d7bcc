/** Invalid command line; the message is a complete sentence. */
export class BenchUsageError extends Error {}

export interface FlagSpec<T> {
  readonly placeholder: string | null;
  readonly defaultText: string | null;
  readonly meaning: string;
  /**
   * Parses the value of the flag, else of the preset. Errors: `BenchUsageError` that lists the allowed
   * values.
   */
  readonly read: (text: string | null, flag: string) => T;
}

interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly isInteger?: boolean;
}

export function switchFlag(meaning: string): FlagSpec<boolean> {
  return { placeholder: null, defaultText: null, meaning, read: (text) => text !== null };
}

export function textFlag(placeholder: string, meaning: string): FlagSpec<string | null> {
  return { placeholder, defaultText: null, meaning, read: (words) => words };
}

export function integerFlag(
  min: number,
  max: number,
  defaultText: number,
  meaning: string,
): FlagSpec<number> {
  return {
    placeholder: 'n',
    defaultText: String(defaultText),
    meaning,
    read: (text, flag) => readNumber(text, flag, { min, max, isInteger: true }),
  };
}

export function numberFlag(bounds: NumberBounds, defaultText: number, meaning: string): FlagSpec<number> {
  return {
    placeholder: 'n',
    defaultText: String(defaultText),
    meaning,
    read: (text, flag) => readNumber(text, flag, bounds),
  };
}

export function listFlag(
  bounds: NumberBounds,
  defaultText: string | null,
  meaning: string,
): FlagSpec<number[]> {
  return {
    placeholder: 'list',
    defaultText,
    meaning,
    read: (text, flag) => {
      const values = text === null ? [] : text.split(',').map((one) => readNumber(one, flag, bounds));
      if (new Set(values).size === values.length) return values;
      throw new BenchUsageError(`${flag} is ${text}; expected distinct numbers.`);
    },
  };
}

export function choiceFlag<Name extends string>(
  names: readonly Name[],
  defaultText: Name,
  meaning: string,
): FlagSpec<Name> {
  return {
    placeholder: 'kind',
    defaultText,
    meaning: `${meaning}: ${names.join(', ')}`,
    read: (text, flag) => {
      const known = names.find((name) => name === text);
      if (known === undefined) throw new BenchUsageError(`${flag} is ${text}; expected ${names.join(', ')}.`);
      return known;
    },
  };
}

export function readNumber(
  text: string | null,
  flag: string,
  { min, max, isInteger = false }: NumberBounds,
): number {
  const value = /^\d+(\.\d+)?$/.test(text ?? '') ? Number(text) : Number.NaN;
  const kind = isInteger ? 'a whole number' : 'a number';
  if (value >= min && value <= max && (!isInteger || Number.isInteger(value))) return value;
  throw new BenchUsageError(`${flag} is ${text}; expected ${kind} from ${min} to ${max}.`);
}

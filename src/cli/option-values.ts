import { AppError } from '../core/app-error.ts';
import { isObject } from '../core/is-object.ts';
import type { CommandOptions, OptionSpec } from './command.ts';

/** Parses a whole number. Errors: AppError `bad_request` if it is invalid or out of bounds. */
export function integerOption(
  options: CommandOptions,
  name: string,
  bounds: { readonly minimum: number; readonly maximum: number },
): number {
  const text = String(options[name]);
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= bounds.minimum && value <= bounds.maximum) return value;
  throw new AppError(
    'bad_request',
    `${toFlag(name)} is ${JSON.stringify(text)}; expected a whole number from ${bounds.minimum} to ${bounds.maximum}.`,
  );
}

/**
 * Parses a number; null if the option is absent. Errors: AppError `bad_request` if it is invalid or out of
 * bounds.
 */
export function numberOption(
  options: CommandOptions,
  name: string,
  bounds: { readonly minimum: number; readonly maximum: number },
): number | null {
  if (options[name] === undefined) return null;
  const text = String(options[name]);
  const value = parseDecimal(text);
  if (value >= bounds.minimum && value <= bounds.maximum) return value;
  throw new AppError(
    'bad_request',
    `${toFlag(name)} is ${JSON.stringify(text)}; expected a number from ${bounds.minimum} to ${bounds.maximum}.`,
  );
}

/**
 * Parses the lexical and vector weights, as "1:0.6"; null if the option is absent. Errors: AppError
 * `bad_request`.
 */
export function weightsOption(options: CommandOptions): { lexical: number; vector: number } | null {
  if (options.weights === undefined) return null;
  const text = String(options.weights);
  const [lexical = Number.NaN, vector = Number.NaN, ...more] = text.split(':').map(parseDecimal);
  if (lexical >= 0 && vector >= 0 && lexical + vector > 0 && more.length === 0) return { lexical, vector };
  throw new AppError(
    'bad_request',
    `--weights is ${JSON.stringify(text)}; expected two numbers, lexical:vector, such as 1:0.6; not both 0.`,
  );
}

/**
 * Parses a time to ISO 8601 in UTC; null if the option is absent. A date means midnight UTC. Errors: AppError
 * `bad_request`.
 */
export function timeOption(options: CommandOptions, name: string): string | null {
  if (options[name] === undefined) return null;
  const text = String(options[name]);
  const time = /^\d{4}-\d\d-\d\d(T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new AppError(
    'bad_request',
    `${toFlag(name)} is ${JSON.stringify(text)}; expected a day (2026-11-01) or a time (2026-11-01T08:00:00Z).`,
  );
}

/** Returns the flag of an option: --max-per-document for "maxPerDocument". */
function toFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
}

/** Parses a plain non-negative number; NaN for anything else. */
function parseDecimal(text: string): number {
  return /^(\d{1,9}(\.\d{0,9})?|\.\d{1,9})$/.test(text) ? Number(text) : Number.NaN;
}

/**
 * Parses a vector as the API accepts it: a JSON list of numbers, or base64; null if the option is absent.
 * Errors: AppError `bad_request`.
 */
export function vectorOption(options: CommandOptions): number[] | string | null {
  if (options.vector === undefined) return null;
  const text = String(options.vector).trim();
  if (!text.startsWith('[')) return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError('bad_request', `--vector is not JSON: ${(cause as Error).message}.`, { cause });
  }
  if (Array.isArray(value) && value.every((number) => typeof number === 'number')) return value;
  throw new AppError(
    'bad_request',
    '--vector must be a list of numbers, for example [0.12, -0.98], or base64.',
  );
}

/** Parses a JSON object; null if the option is absent. Errors: AppError `bad_request`. */
export function jsonObjectOption(options: CommandOptions, name: string): Record<string, unknown> | null {
  if (options[name] === undefined) return null;
  const value = parseJson(options, name);
  if (isObject(value)) return value as Record<string, unknown>;
  throw new AppError(
    'bad_request',
    `${toFlag(name)} must be a JSON object, for example {"team": "support"}.`,
  );
}

/** Parses a JSON array; null if the option is absent. Errors: AppError `bad_request` if it is invalid. */
export function jsonArrayOption(options: CommandOptions, name: string): unknown[] | null {
  if (options[name] === undefined) return null;
  const value = parseJson(options, name);
  if (Array.isArray(value)) return value;
  throw new AppError('bad_request', `${toFlag(name)} must be a JSON array.`);
}

function parseJson(options: CommandOptions, name: string): unknown {
  try {
    return JSON.parse(String(options[name]));
  } catch (cause) {
    throw new AppError('bad_request', `${toFlag(name)} is not JSON: ${(cause as Error).message}.`, { cause });
  }
}

/** Options that control queries beyond their text; defaults for queries that do not set their own. */
export const controlOptions: readonly OptionSpec[] = [
  {
    flags: '--syntax <syntax>',
    meaning: 'query syntax; operators: "phrases" are required, -words are excluded',
    choices: ['natural', 'operators'],
  },
  {
    flags: '--weights <lexical:vector>',
    meaning: 'weights of the lexical and the vector score, for example 1:0.6',
  },
  { flags: '--min-score <score>', meaning: 'minimum score of a result, 0 to 1' },
  {
    flags: '--max-per-document <count>',
    meaning: 'maximum snippets or pages per document',
    conflicts: ['documents'],
  },
];

export function readControlOptions(options: CommandOptions): Record<string, unknown> {
  const weights = weightsOption(options);
  const minScore = numberOption(options, 'minScore', { minimum: 0, maximum: 1 });
  const maxPerDocument = options.maxPerDocument;
  return {
    ...(weights === null ? {} : { weights }),
    ...(minScore === null ? {} : { min_score: minScore }),
    ...(maxPerDocument === undefined
      ? {}
      : { max_per_document: integerOption(options, 'maxPerDocument', { minimum: 1, maximum: 1_000_000 }) }),
    ...(options.syntax === undefined ? {} : { syntax: String(options.syntax) }),
  };
}

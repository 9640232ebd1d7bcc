import { AppError } from '../base/app-error.ts';
import type { CommandOptions } from './command.ts';

/** A whole number within bounds, or AppError `bad_request`. */
export function wholeOption(
  options: CommandOptions,
  name: string,
  bounds: { readonly minimum: number; readonly maximum: number },
): number {
  const text = String(options[name]);
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= bounds.minimum && value <= bounds.maximum) return value;
  throw new AppError(
    'bad_request',
    `${flag(name)} is ${JSON.stringify(text)}; allowed is a whole number from ${bounds.minimum} to ${bounds.maximum}.`,
  );
}

/** A number within bounds, null when the option is absent, or AppError `bad_request`. */
export function numberOption(
  options: CommandOptions,
  name: string,
  bounds: { readonly minimum: number; readonly maximum: number },
): number | null {
  if (options[name] === undefined) return null;
  const text = String(options[name]);
  const value = decimal(text);
  if (value >= bounds.minimum && value <= bounds.maximum) return value;
  throw new AppError(
    'bad_request',
    `${flag(name)} is ${JSON.stringify(text)}; allowed is a number from ${bounds.minimum} to ${bounds.maximum}.`,
  );
}

/** What words and meaning count, as "1:0.6"; null when the option is absent, or AppError `bad_request`. */
export function weightsOption(options: CommandOptions): { lexical: number; vector: number } | null {
  if (options.weights === undefined) return null;
  const text = String(options.weights);
  const [lexical = Number.NaN, vector = Number.NaN, ...more] = text.split(':').map(decimal);
  if (lexical >= 0 && vector >= 0 && lexical + vector > 0 && more.length === 0) return { lexical, vector };
  throw new AppError(
    'bad_request',
    `--weights is ${JSON.stringify(text)}; allowed are two numbers, for words and for meaning, as in 1:0.6; not both 0.`,
  );
}

/** As it is typed: "maxPerDocument" is --max-per-document. */
function flag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
}

/** NaN for anything but a plain number that is not negative. */
function decimal(text: string): number {
  return /^(\d{1,9}(\.\d{0,9})?|\.\d{1,9})$/.test(text) ? Number(text) : Number.NaN;
}

/** A JSON object, null when the option is absent, or AppError `bad_request`. */
export function jsonObjectOption(options: CommandOptions, name: string): Record<string, unknown> | null {
  const text = options[name];
  if (text === undefined) return null;
  let value: unknown;
  try {
    value = JSON.parse(String(text));
  } catch (cause) {
    throw new AppError('bad_request', `--${name} is not JSON: ${(cause as Error).message}.`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new AppError('bad_request', `--${name} must be a JSON object, for example {"team": "support"}.`);
}

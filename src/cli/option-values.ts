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
    `--${name} is ${JSON.stringify(text)}; allowed is a whole number from ${bounds.minimum} to ${bounds.maximum}.`,
  );
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

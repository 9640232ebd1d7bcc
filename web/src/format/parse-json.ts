import { texts } from '../texts/en/server.ts';
import { fill } from '../texts/format-text.ts';

/** Typed text parsed as JSON, or the error. */
export type JsonParseResult =
  | { readonly value: unknown; readonly error: null }
  | { readonly value: null; readonly error: string };

export function parseJson(text: string): JsonParseResult {
  try {
    return { value: JSON.parse(text), error: null };
  } catch (error) {
    return {
      value: null,
      error: fill(texts.invalidJsonError, { error: error instanceof Error ? error.message : String(error) }),
    };
  }
}

import { normalizeCase, removeInvisible } from './fold.ts';

/** One searchable spelling of a word in a text. */
export interface WordVariant {
  /** Normalized with `normalizeCase`, not yet folded or stemmed. */
  readonly text: string;
  /**
   * Whether it has only letters, so that a stemmer may shorten it. Numbers, codes and concatenations are kept
   * as they are.
   */
  readonly isStemmable: boolean;
  /** Weight of this piece in a query. */
  readonly weight: number;
}

const lettersOnly = /^[\p{L}\p{M}]+$/u;
const run = /[\p{L}\p{N}\p{M}]+/gu;
const plainWord = /^(?:\p{Lu}?[\p{Ll}\p{M}]+|[\p{Lu}\p{M}]+s?|[\p{Lo}\p{Lm}\p{M}]+|\p{Nd}+)$/u;
/**
 * Also matches between the values of a table: the parts remain searchable in addition to the possible number.
 */
const thousandsComma = /,/g;
const codeSuffix = /(?:\+\+|#)$/;
const dottedNumber = /\d+(?:\.\d+)+/g;
/** Matches words inside a run without separators: "XMLHttpRequest" -> XML Http Request, "PX4500" -> PX 4500. */
const innerWord = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|\p{N}+|[\p{L}\p{M}]+/gu;
/** A run with more parts than this is a code or a hash, whose fragments are meaningless. */
const innerWordsMax = 6;

/**
 * Returns the pieces under which a word is indexed and searched. A plain word is one piece. A compound
 * ("foo-bar_1.2", "getUserName", "PX-4500B", "john.doe@example.com", "1,234.5") is found as a whole, with any
 * connectors ("foobar", "get_user_name", "px4500b"), and by each of its parts.
 */
export function expandWord(surface: string): WordVariant[] {
  return expandVisibleWord(removeInvisible(surface));
}

function expandVisibleWord(surface: string): WordVariant[] {
  if (plainWord.test(surface)) return [toWordVariant(surface)];
  const clauses = surface.split(/['’]/);
  const longClauses = clauses.filter((clause) => clause.length > 1);
  const pieces = (longClauses.length > 0 ? longClauses : clauses).flatMap(expandCompound);
  const first = new Map<string, WordVariant>();
  for (const piece of pieces) if (!first.has(piece.text)) first.set(piece.text, piece);
  return [...first.values()];
}

function toWordVariant(surface: string, weight = 1): WordVariant {
  const text = normalizeCase(surface);
  return { text, isStemmable: lettersOnly.test(text), weight };
}

function expandCompound(compound: string): WordVariant[] {
  const suffix = codeSuffix.exec(compound)?.[0] ?? '';
  const spelled = compound.slice(0, compound.length - suffix.length);
  const runs = spelled.match(run) ?? [];
  const body = spelled.replace(thousandsComma, '');
  const only = runs[0];
  if (only === undefined) return [];
  if (runs.length === 1 && suffix === '' && plainWord.test(only)) return [toWordVariant(only)];
  const numbers = body.match(dottedNumber) ?? [];
  if (numbers[0] === spelled && runs.length === 2) return [toWordVariant(spelled)];
  const isNatural = suffix === '' && runs.every((part) => plainWord.test(part) && lettersOnly.test(part));
  const whole = toWordVariant(concatenate(body) + suffix, isNatural ? 0.5 : 1);
  if (runs.length > 1 && runs.every((part) => part.length === 1 && lettersOnly.test(part))) return [whole];
  const parts = [...runs.flatMap(splitRun), ...numbers.flatMap(splitNumber)];
  return [whole, ...parts.map((part) => toWordVariant(part, isNatural ? 1 : 0.5))];
}

/**
 * Removes connectors, so that all their variants are equal; between digits they become a point: 1.2 is not
 * 12.
 */
function concatenate(body: string): string {
  return body.replace(/[-‐‑_.]/g, (_joint, offset: number) =>
    /\d/.test(body[offset - 1] ?? '') && /\d/.test(body[offset + 1] ?? '') ? '.' : '',
  );
}

function splitRun(part: string): string[] {
  if (plainWord.test(part)) return [part];
  const inner = part.match(innerWord) ?? [];
  if (inner.length < 2 || inner.length > innerWordsMax) return [part];
  return [part, ...inner.filter((word) => word.length > 1)];
}

/** Makes "20.51.4" also searchable as "20.51". */
function splitNumber(number: string): string[] {
  const components = number.split('.');
  return components.slice(1).map((_component, index) => components.slice(0, index + 2).join('.'));
}

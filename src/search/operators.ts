import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { toUnstemmedWords } from '../text/unstemmed-words.ts';

/** Phrases and words that the text of a result must and must not contain, matched as whole words. */
export class QueryOperators {
  /** As typed. */
  readonly phrases: readonly string[];
  readonly excluded: readonly string[];
  readonly #requiredPhrases: readonly string[];
  readonly #excludedPhrases: readonly string[];

  constructor(phrases: readonly string[], excluded: readonly string[]) {
    this.phrases = phrases;
    this.excluded = excluded;
    this.#requiredPhrases = phrases.map(padWithSpaces);
    this.#excludedPhrases = excluded.map(padWithSpaces);
  }

  accepts(text: string): boolean {
    const words = padWithSpaces(text);
    return (
      this.#requiredPhrases.every((phrase) => words.includes(phrase)) &&
      !this.#excludedPhrases.some((phrase) => words.includes(phrase))
    );
  }
}

/** A phrase padded with spaces occurs in a padded text only as whole words, because no word contains a space. */
function padWithSpaces(text: string): string {
  return ` ${toUnstemmedWords(text).join(' ')} `;
}

interface ParsedQuery {
  /** The query with its phrases, without its exclusions. */
  readonly text: string;
  readonly operators: QueryOperators;
}

/**
 * Matches an excluded phrase, a phrase, an excluded word, or an unpaired quotation mark; the first
 * alternative that matches wins.
 */
const operatorPattern = /(?<!\S)-"([^"]*)"|"([^"]*)"|(?<!\S)-([^\s"]+)|"/gu;

/** Parses `"phrases"`, `-words` and `-"phrases"`. Errors: `bad_request` for invalid syntax. */
export function parseOperators(query: string): ParsedQuery {
  const phrases: string[] = [];
  const excluded: string[] = [];
  const rest = query
    .replace(/[“”„‟]/gu, '"')
    .replace(operatorPattern, (typed, ...groups: (string | undefined)[]) => {
      const [excludedPhrase, phrase, excludedWord] = groups;
      if (excludedPhrase !== undefined) {
        excluded.push(requireWord(excludedPhrase));
        return ' ';
      }
      if (phrase !== undefined) {
        phrases.push(requireWord(phrase));
        return ` ${phrase} `;
      }
      if (excludedWord === undefined)
        reject('The query has an unmatched quotation mark. Add the other one, or remove it.');
      if (!hasWord(excludedWord)) return typed;
      excluded.push(excludedWord);
      return ' ';
    });
  if (phrases.length + excluded.length > limits.queryOperatorsMax)
    reject(
      `The query has more than ${limits.queryOperatorsMax} phrases and exclusions. Remove some of them.`,
    );
  const text = rest.replace(/\s+/gu, ' ').trim();
  if (text === '' && excluded.length > 0)
    reject('The query has only exclusions. Add at least one search term.');
  return { text, operators: new QueryOperators(phrases, excluded) };
}

function requireWord(phrase: string): string {
  if (!hasWord(phrase))
    reject(
      'The query has a phrase without any words. Add a word to the phrase, or remove its quotation marks.',
    );
  return phrase;
}

function hasWord(text: string): boolean {
  return toUnstemmedWords(text).length > 0;
}

function reject(detail: string): never {
  throw new AppError('bad_request', detail);
}

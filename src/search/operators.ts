import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import { spelledWords } from '../text/spelled-words.ts';

/** What the text of a result must say and must not say, word for word. */
export class Operators {
  /** As they were typed. */
  readonly phrases: readonly string[];
  readonly excluded: readonly string[];
  readonly #needed: readonly string[];
  readonly #refused: readonly string[];

  constructor(phrases: readonly string[], excluded: readonly string[]) {
    this.phrases = phrases;
    this.excluded = excluded;
    this.#needed = phrases.map(inBlanks);
    this.#refused = excluded.map(inBlanks);
  }

  pass(text: string): boolean {
    const words = inBlanks(text);
    return (
      this.#needed.every((phrase) => words.includes(phrase)) &&
      !this.#refused.some((phrase) => words.includes(phrase))
    );
  }
}

/** No word has a blank, so a phrase between blanks stands in a text between blanks only as whole words. */
function inBlanks(text: string): string {
  return ` ${spelledWords(text).join(' ')} `;
}

interface UnderstoodQuery {
  /** What is looked for: the query with its phrases, without what it excludes. */
  readonly asked: string;
  readonly operators: Operators;
}

/** An excluded phrase, a phrase, an excluded word, a quotation mark without a partner; the first that fits. */
const operator = /(?<!\S)-"([^"]*)"|"([^"]*)"|(?<!\S)-([^\s"]+)|"/gu;

/** Understands `"phrases"`, `-words` and `-"phrases"`; throws AppError `bad_request` for what is none of these. */
export function parseOperators(query: string): UnderstoodQuery {
  const phrases: string[] = [];
  const excluded: string[] = [];
  const rest = query
    .replace(/[“”„‟]/gu, '"')
    .replace(operator, (typed, ...groups: (string | undefined)[]) => {
      const [excludedPhrase, phrase, excludedWord] = groups;
      if (excludedPhrase !== undefined) {
        excluded.push(checked(excludedPhrase));
        return ' ';
      }
      if (phrase !== undefined) {
        phrases.push(checked(phrase));
        return ` ${phrase} `;
      }
      if (excludedWord === undefined) refuse('The query has a quotation mark without a partner.');
      if (!hasWord(excludedWord)) return typed;
      excluded.push(excludedWord);
      return ' ';
    });
  if (phrases.length + excluded.length > limits.queryOperatorsMax)
    refuse(`The query has more than ${limits.queryOperatorsMax} phrases and exclusions.`);
  const asked = rest.replace(/\s+/gu, ' ').trim();
  if (asked === '' && excluded.length > 0)
    refuse('The query says only what shall not be found; say also what shall be.');
  return { asked, operators: new Operators(phrases, excluded) };
}

function checked(phrase: string): string {
  if (!hasWord(phrase)) refuse('The query has a phrase in which there is no word to look for.');
  return phrase;
}

function hasWord(text: string): boolean {
  return spelledWords(text).length > 0;
}

function refuse(detail: string): never {
  throw new AppError('bad_request', detail);
}

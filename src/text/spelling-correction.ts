import { editDistance } from '../core/edit-distance.ts';
import { limits } from '../core/limits.ts';
import { foldDiacritics } from './fold.ts';
import { type Language, toTerm } from './languages.ts';
import { toTermKey } from './lexicon.ts';
import type { LexicalQuery, QueryTerm } from './query.ts';

/** A query word that occurs in no document, with the variants to search for. */
export interface MisspelledWord {
  /** Group of the query's terms. */
  readonly group: number;
  /** As typed. */
  readonly surface: string;
  /**
   * Terms under which the word is, or would be, indexed. A term that differs from one of these by a letter is
   * a candidate.
   */
  readonly forms: readonly string[];
  /** Terms of the word with one letter of its ending changed: a stemmer does not remove a misspelled ending. */
  readonly terms: readonly string[];
  /** Letters of the word's script. */
  readonly letters: string;
  readonly editsMax: 1 | 2;
}

/** A term of the collection that may be the correct spelling of a word. */
export interface SpellingCandidate {
  readonly term: string;
  readonly edits: number;
  /** Number of rows with the term. */
  readonly rows: number;
}

/** The correction of a query word. */
export interface Correction {
  readonly typed: string;
  /** Terms searched instead. */
  readonly terms: readonly string[];
  /** Replacement of the word in the text for models. */
  readonly replacement: string;
}

/** Minimum lengths: shorter words resemble too many others, and two edits are allowed only in long words. */
const wordUnitsMin = 4;
const twoEditUnitsMin = 8;
/** Maximum length of an ending removed by a stemmer, approximately. */
const endingUnits = 5;
/** Weights of terms by number of edits: none, one, two. */
const editWeights = [1, 0.8, 0.5] as const;
/**
 * Of the terms with the fewest edits, the most frequent ones are used, except those in less than a tenth of
 * the rows of the first.
 */
const termsMax = 3;
const rowsShareMin = 0.1;

/**
 * Two edits generate so many variants that only a few words per query get them, with the most frequent
 * letters only.
 */
const twoEditWordsMax = 2;
const twoEditLettersMax = 10;

/** Letters of each script, most frequent first where known. */
const alphabets: readonly (readonly [RegExp, string])[] = (
  [
    [/^\p{Script=Latin}+$/u, 'eaionrtslucdmphgbfvkwyzxjq'],
    [/^\p{Script=Cyrillic}+$/u, 'оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъіїєґ'],
    [/^\p{Script=Greek}+$/u, 'αοιετσνηυρπκμλςωθγδβχξφζψ'],
    [/^\p{Script=Arabic}+$/u, 'ءآأؤإئابتثجحخدذرزسشصضطظعغفقكلمنهوىيةپچژگ'],
    [/^\p{Script=Hebrew}+$/u, 'יוהלאםתרבמשנכדחפקטעגצסןזךףץ'],
    [/^\p{Script=Armenian}+$/u, 'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆև'],
    [/^\p{Script=Georgian}+$/u, 'აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ'],
    [/^\p{Script=Devanagari}+$/u, 'अआइईउऊऋएऐओऔकखगघङचछजझञटठडढणतथदधनपफबभमयरलळवशषसहािीुूृेैोौंःँ़्'],
  ] as const
).map(([script, letters]) => [script, [...new Set(foldDiacritics(letters))].join('')]);

/**
 * Whether the query has a word that `findMisspelledWords` returns if it occurs in no row. Most queries have none
 * and need no lookup: of 2,655 questions to 5,183 abstracts, two thirds have a word that occurs in no abstract,
 * and a twentieth a word that may be misspelled.
 */
export function hasSuspects({ letterWords }: LexicalQuery, isCorrect: (word: string) => boolean): boolean {
  return letterWords.some((word) => word !== null && isSuspect(word, isCorrect));
}

function isSuspect(word: string, isCorrect: (word: string) => boolean): boolean {
  return word.length >= wordUnitsMin && word.length <= limits.misspelledUnitsMax && !isCorrect(word);
}

/**
 * Returns the words of the query that occur in no row, according to `rows` per term, and that may be
 * misspelled: words of letters only, long enough, and not accepted by `isCorrect`. At most
 * `misspelledWordsMax`.
 */
export function findMisspelledWords(
  query: LexicalQuery,
  rows: Float64Array,
  isCorrect: (word: string) => boolean,
): MisspelledWord[] {
  const knownGroups = new Set(query.terms.filter((_, i) => rows[i]! > 0).map(({ group }) => group));
  const misspelled: MisspelledWord[] = [];
  for (const [group, surface] of query.words.entries()) {
    const plain = query.letterWords[group];
    if (plain === null || plain === undefined || knownGroups.has(group)) continue;
    if (!isSuspect(plain, isCorrect)) continue;
    const letters = alphabets.find(([script]) => script.test(plain))?.[1];
    if (letters === undefined) continue;
    const forms = query.terms.filter((term) => term.group === group).map(({ text }) => text);
    const editsMax = plain.length >= twoEditUnitsMin ? 2 : 1;
    misspelled.push({ group, surface, forms, terms: [], letters, editsMax });
    if (misspelled.length >= limits.misspelledWordsMax) break;
  }
  return misspelled;
}

/** Returns the prefixes of a word that may be the stem of the correct word if its ending is misspelled. */
export function findStemPrefixes(word: MisspelledWord): string[] {
  const folded = foldDiacritics(word.forms[0]!);
  const lengths = Array.from({ length: endingUnits }, (_, i) => folded.length - 1 - i);
  return lengths.filter((length) => length >= wordUnitsMin - 1).map((length) => folded.slice(0, length));
}

/** Adds terms with one letter of the ending changed, in the languages of the collection. */
export function addEndingVariants(word: MisspelledWord, languages: readonly Language[]): MisspelledWord {
  const text = word.forms[0]!;
  const terms = new Set<string>();
  for (const changed of editEndings(text, word.letters)) {
    for (const language of languages) terms.add(toTerm(changed, true, language));
  }
  return { ...word, terms: [...terms] };
}

function editEndings(text: string, letters: string): Set<string> {
  const changed = new Set<string>();
  for (let at = Math.max(2, text.length - endingUnits); at <= text.length; at += 1) {
    const [before, after] = [text.slice(0, at), text.slice(at)];
    for (const letter of letters) {
      changed.add(before + letter + after);
      if (after !== '') changed.add(before + letter + after.slice(1));
    }
    if (after !== '') changed.add(before + after.slice(1));
    if (after.length > 1) changed.add(before + after[1]! + after[0]! + after.slice(2));
  }
  return changed;
}

/**
 * Returns the sufficiently long words with two edits allowed, for a second search of words not found with one
 * edit.
 */
export function selectTwoEditWords(words: readonly MisspelledWord[]): MisspelledWord[] {
  return words
    .filter(({ editsMax }) => editsMax === 2)
    .slice(0, twoEditWordsMax)
    .map((word) => {
      const stem = word.forms.toSorted((a, b) => a.length - b.length)[0]!;
      return { ...word, forms: [stem], terms: [], letters: word.letters.slice(0, twoEditLettersMax) };
    });
}

/**
 * Adds the terms of the correct spellings to the query; `candidates` has those of each word, most rows first.
 */
export function applySpellings(
  query: LexicalQuery,
  words: readonly MisspelledWord[],
  candidates: readonly (readonly SpellingCandidate[])[],
): { query: LexicalQuery; corrections: Correction[] } {
  const terms: QueryTerm[] = [...query.terms];
  const corrections: Correction[] = [];
  for (const [i, word] of words.entries()) {
    const rowsOfFirst = candidates[i]![0]?.rows ?? 0;
    const best = candidates[i]!.filter(({ rows }) => rows >= rowsOfFirst * rowsShareMin).slice(0, termsMax);
    const first = best[0];
    if (first === undefined) continue;
    const { weight } = query.terms.find(({ group }) => group === word.group)!;
    for (const { term: text, edits } of best)
      terms.push({ text, hash: toTermKey(text), weight: weight * editWeights[edits]!, group: word.group });
    const read = restoreEnding(word, first.term);
    corrections.push({ typed: word.surface, terms: best.map(({ term }) => term), replacement: read });
  }
  // Keep the alternatives of one word together.
  terms.sort((left, right) => left.group - right.group);
  return { query: { ...query, terms }, corrections };
}

/** Returns the term with the ending that was removed from the word to form its most similar form. */
function restoreEnding({ forms }: MisspelledWord, term: string): string {
  const text = forms[0]!;
  const isBeginning = (form: string) => text.startsWith(form);
  const [nearest] = forms
    .filter(isBeginning)
    .toSorted((a, b) => editDistance(a, term) - editDistance(b, term));
  return term + text.slice(nearest!.length);
}

const wordCharacter = /^[\p{L}\p{N}\p{M}]$/u;

/** Replaces misspelled words in a text by their corrections. */
export function replaceMisspelledWords(text: string, corrections: readonly Correction[]): string {
  return corrections.reduce(
    (corrected, { typed, replacement }) => replaceWord(corrected, typed, replacement),
    text,
  );
}

/** Replaces a word where no letter, digit or mark adjoins it. Compiling an expression for each word took 1.5 ms. */
function replaceWord(text: string, word: string, replacement: string): string {
  let [replaced, copied] = ['', 0];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, Math.max(at + 1, copied))) {
    const end = at + word.length;
    const before = Array.from(text.slice(Math.max(0, at - 2), at)).at(-1);
    const after = end < text.length ? String.fromCodePoint(text.codePointAt(end)!) : undefined;
    if ([before, after].some((character) => character !== undefined && wordCharacter.test(character)))
      continue;
    replaced += text.slice(copied, at) + replacement;
    copied = end;
  }
  return replaced + text.slice(copied);
}

import { editDistance } from '../core/edit-distance.ts';
import { limits } from '../core/limits.ts';
import { foldDiacritics } from './fold.ts';
import { type Language, toTerm } from './languages.ts';
import { toTermKey } from './lexicon.ts';
import type { LexicalQuery, QueryTerm } from './query.ts';

/** A word of a query that no document has, and what to look for in its place. */
export interface MisspelledWord {
  /** Of the query's terms. */
  readonly group: number;
  /** As it was typed. */
  readonly surface: string;
  /** What the word is and would be indexed under: terms that differ from one of these by a letter may be meant. */
  readonly forms: readonly string[];
  /** What the word becomes when a letter of its ending is changed: an ending that is misspelled is not taken off. */
  readonly terms: readonly string[];
  /** The letters of its script. */
  readonly letters: string;
  readonly editsMax: 1 | 2;
}

/** A term of the collection that a word may stand for. */
export interface SpellingCandidate {
  readonly term: string;
  readonly edits: number;
  /** That hold it. */
  readonly rows: number;
}

/** How a word of the query was understood. */
export interface Correction {
  readonly typed: string;
  /** What was looked for instead. */
  readonly terms: readonly string[];
  /** What models read in its place. */
  readonly replacement: string;
}

/** Shorter words are like too many others; and two letters differ only in long ones. */
const wordUnitsMin = 4;
const twoEditUnitsMin = 8;
/** Endings that stemmers take off are hardly longer. */
const endingUnits = 5;
/** What a term counts that differs by one letter, by two. */
const editWeights = [1, 0.8, 0.5] as const;
/** Of terms that differ equally, those in the most rows, and none that is in a tenth as many as the first. */
const termsMax = 3;
const rowsShareMin = 0.1;

/** Two edits spell out so many words that only a few of a query's get them, and only with the commonest letters. */
const twoEditWordsMax = 2;
const twoEditLettersMax = 10;

/** The letters of a script, the commonest first where that is known. */
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
 * Words of the query whose terms no row has, as `rows` says term by term, and that may be misspelled: plain words of
 * letters, long enough, of which `isRight` does not say that they are right. At most `misspelledWordsMax`.
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
    if (plain.length < wordUnitsMin || plain.length > limits.misspelledUnitsMax || isCorrect(plain)) continue;
    const letters = alphabets.find(([script]) => script.test(plain))?.[1];
    if (letters === undefined) continue;
    const forms = query.terms.filter((term) => term.group === group).map(({ text }) => text);
    const editsMax = plain.length >= twoEditUnitsMin ? 2 : 1;
    misspelled.push({ group, surface, forms, terms: [], letters, editsMax });
    if (misspelled.length >= limits.misspelledWordsMax) break;
  }
  return misspelled;
}

/** Beginnings of a word that may be the stem of what it stands for, when its ending is misspelled. */
export function findStemPrefixes(word: MisspelledWord): string[] {
  const folded = foldDiacritics(word.forms[0]!);
  const lengths = Array.from({ length: endingUnits }, (_, i) => folded.length - 1 - i);
  return lengths.filter((length) => length >= wordUnitsMin - 1).map((length) => folded.slice(0, length));
}

/** The word with the terms of its ending changed by a letter, in the languages of the collection. */
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

/** The words with two edits, of those that are long enough: to ask again for what was not found with one. */
export function selectTwoEditWords(words: readonly MisspelledWord[]): MisspelledWord[] {
  return words
    .filter(({ editsMax }) => editsMax === 2)
    .slice(0, twoEditWordsMax)
    .map((word) => {
      const stem = word.forms.toSorted((a, b) => a.length - b.length)[0]!;
      return { ...word, forms: [stem], terms: [], letters: word.letters.slice(0, twoEditLettersMax) };
    });
}

/** The query with the terms that its misspelled words stand for; `found` has those of each word, most rows first. */
export function applySpellings(
  query: LexicalQuery,
  words: readonly MisspelledWord[],
  candidates: readonly (readonly SpellingCandidate[])[],
): { query: LexicalQuery; corrections: Correction[] } {
  const terms: QueryTerm[] = [...query.terms];
  const corrections: Correction[] = [];
  for (const [i, word] of words.entries()) {
    const rowsMost = candidates[i]![0]?.rows ?? 0;
    const best = candidates[i]!.filter(({ rows }) => rows >= rowsMost * rowsShareMin).slice(0, termsMax);
    const first = best[0];
    if (first === undefined) continue;
    const { weight } = query.terms.find(({ group }) => group === word.group)!;
    for (const { term: text, edits } of best)
      terms.push({ text, hash: toTermKey(text), weight: weight * editWeights[edits]!, group: word.group });
    const read = restoreEnding(word, first.term);
    corrections.push({ typed: word.surface, terms: best.map(({ term }) => term), replacement: read });
  }
  // Alternatives of one word stand together.
  terms.sort((left, right) => left.group - right.group);
  return { query: { ...query, terms }, corrections };
}

/** The term, with the ending that the word lost when it became the most like it of its forms. */
function restoreEnding({ forms }: MisspelledWord, term: string): string {
  const text = forms[0]!;
  const isBeginning = (form: string) => text.startsWith(form);
  const [nearest] = forms
    .filter(isBeginning)
    .toSorted((a, b) => editDistance(a, term) - editDistance(b, term));
  return term + text.slice(nearest!.length);
}

/** A text with words replaced by what they stand for. */
export function replaceMisspelledWords(text: string, corrections: readonly Correction[]): string {
  return corrections.reduce((corrected, { typed, replacement: read }) => {
    const quoted = typed.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return corrected.replace(
      new RegExp(`(?<![\\p{L}\\p{N}\\p{M}])${quoted}(?![\\p{L}\\p{N}\\p{M}])`, 'gu'),
      () => read,
    );
  }, text);
}

import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import { addon, type LexiconHandle, type NativeAnalyzer } from '../index/addon.ts';
import {
  chooseLanguage,
  findStopLanguages,
  type Language,
  languages,
  parseLanguageTag,
} from './languages.ts';
import { hashPieces, type LexiconEntry } from './lexicon.ts';
import { segmentWordLengths } from './scan.ts';
import { expandWord } from './words.ts';

/**
 * What is indexed of one coarse chunk: its text, and its heading prefix as a field of its own. A row whose
 * text has no words (white space, rules, emoji) gets no entries, so that its prefix alone never finds it.
 */
export interface AnalysisRow {
  readonly text: string;
  readonly prefix: string;
}

export interface ChunkAnalysis {
  /**
   * A TermBlock with one row per input row, packed little endian and handed to the engine as it is stored:
   *   header   u32 magic 'QTB1', u32 rowCount
   *   sizes    rowCount x u32 entryCount, padded with zeros to a multiple of 8 bytes
   *   entries  in row order, 16 bytes each: u64 termHash, u16 bodyCount, u16 prefixCount, u32 zero
   * The entries of a row ascend by unsigned termHash and are unique; counts saturate at 65,535. In the first words of
   * a row, up to 100 letters together, each occurrence counts twice.
   */
  readonly block: Uint8Array;
  /**
   * The language by which each row was stemmed; null where unsure. Their union is what `analyseQuery`
   * needs.
   */
  readonly languages: readonly (Language | null)[];
  /** Occurrences of terms, body and prefix together, each once. */
  readonly tokens: number;
  /** Entries of the block: distinct terms, summed over the rows. */
  readonly terms: number;
}

/**
 * Which terms: every word is indexed once, under the stem of its row's language, or under its folded
 * surface where the language is unsure. A query carries for each of its words the surface and the stem of
 * every language the collection holds, as alternatives of one group (`analyseQuery`). Equal words have
 * equal stems in each language, so a word is found by its exact form whatever language was guessed.
 * Indexing stem and surface both would serve too, but it makes 1.4 times (English) to 1.85 times (Russian)
 * as many entries and counts a plain match twice; this way a query pays one look-up per further language,
 * which nearly always finds an empty list.
 *
 * Terms never contain a space, so that adjacent stem pairs can later be indexed as "stem stem" in the same
 * blocks.
 *
 * Natural text repeats itself, so native/text finds and counts the words, and asks here once for each spelling what it
 * is and which terms it makes. Its memory is a pure memo: what was analysed before changes no result.
 */
/**
 * Terms of the chunks of one document. `language` is what the document says about itself (a tag such as
 * "de-AT"); it only decides where the words themselves leave doubt, because such declarations are often
 * wrong.
 */
export function analyzeChunks(rows: readonly AnalysisRow[], language: string | null = null): ChunkAnalysis {
  for (const { text, prefix } of rows) {
    assert(text.length + prefix.length <= limits.analyzedRowUnitsMax, 'a row is one chunk');
  }
  lexicon ??= openLexicon();
  const document = {
    texts: rows.map(({ text }) => text),
    prefixes: rows.map(({ prefix }) => prefix),
    sample: sampleRows(rows),
    declared: languageIndexOf(parseLanguageTag(language)),
  };
  const analysis = addon.lexiconAnalyze(lexicon, document, analyzer);
  return {
    ...analysis,
    languages: Array.from(analysis.languages, (position) => languages[position] ?? null),
  };
}

/** Opened when it is first needed: most threads never analyse. */
let lexicon: LexiconHandle | null = null;

function openLexicon(): LexiconHandle {
  return addon.lexiconOpen({
    termUnitsMax: limits.termUnitsMax,
    compoundRunsMax: limits.compoundRunsMax,
    segmenterUnitsMax: limits.segmenterUnitsMax,
    entriesMax: limits.wordCacheEntriesMax,
    languages: languages.length,
  });
}

const analyzer: NativeAnalyzer = {
  segment: segmentWordLengths,
  expand(word) {
    const pieces = expandWord(word);
    if (pieces.length === 0) return null;
    return Uint8Array.from(pieces.length === 1 ? findStopLanguages(pieces[0]!.text) : []);
  },
  hash(term, isGram, position) {
    const pieces: LexiconEntry['pieces'] = isGram
      ? [{ text: term, isStemmable: false, weight: 1 }]
      : expandWord(term);
    return hashPieces(pieces, position);
  },
  choose: (votes, words) => languageIndexOf(chooseLanguage(votes, words)),
};

function languageIndexOf(language: Language | null): number {
  return language === null ? -1 : languages.indexOf(language);
}

/** Rows spread evenly over the document, so that a table or a quotation does not decide its language alone. */
function sampleRows(rows: readonly AnalysisRow[]): string[] {
  const sample: string[] = [];
  const step = Math.max(1, rows.length / limits.languageSampleRowsMax);
  for (let index = 0; index < rows.length; index += step) sample.push(rows[Math.floor(index)]!.text);
  return sample;
}

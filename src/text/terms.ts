import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import { addon } from '../index/addon.ts';
import type { LexiconHandle, NativeAnalyzer } from '../index/native-text.ts';
import {
  chooseLanguage,
  findStopLanguages,
  type Language,
  languages,
  listStopWords,
  parseLanguageTag,
  stemmedLanguages,
} from './languages.ts';
import { hashPieces, type LexiconEntry } from './lexicon.ts';
import { segmentWordLengths } from './scan.ts';
import { expandWord } from './words.ts';

/**
 * Indexed content of one coarse chunk: its text, and its heading prefix as a separate field. A row whose text
 * has no words (white space, rules, emoji) gets no entries, so that it is never found by its prefix alone.
 */
export interface AnalysisRow {
  readonly text: string;
  readonly prefix: string;
  /** Fine chunks that tile the text; absent: none are analyzed. */
  readonly children?: readonly FineSpan[];
}

/** A fine chunk of a row, by the UTF-16 offset of its end in the text. */
interface FineSpan {
  readonly end: number;
}

export interface ChunkAnalysis {
  /**
   * A TermBlock with one row per input row, little endian:
   *   header   u32 magic 'QTB1', u32 rowCount
   *   sizes    rowCount x u32 entryCount, padded with zeros to a multiple of 8 bytes
   *   entries  in row order, 16 bytes each: u64 termHash, u16 bodyCount, u16 prefixCount, u32 zero
   * The entries of a row are unique and sorted by unsigned termHash; counts saturate at 65,535. In the first words
   * of a row, up to 100 letters in total, each occurrence counts twice.
   */
  readonly block: Uint8Array;
  /** Language used to stem each row; null if unknown. `analyzeQuery` needs their union. */
  readonly languages: readonly (Language | null)[];
  /** Number of term occurrences, body and prefix together, without double counting. */
  readonly tokens: number;
  /** Number of entries in the block: distinct terms, summed over the rows. */
  readonly terms: number;
  /** Terms of the fine chunks: the size of the block of each row as u32, then the blocks (native/FORMAT.md). */
  readonly fineTerms: Uint8Array;
}

/**
 * Choice of terms: every word is indexed once, as the stem in its row's language, or as its folded form if
 * the language is unknown. A query has for each of its words the folded form and the stem in every language
 * of the collection, as alternatives of one group (`analyzeQuery`). Equal words have equal stems in each
 * language, so a word is found by its exact form regardless of the detected language. Indexing both stem and
 * folded form would also work, but creates 1.4 times (English) to 1.85 times (Russian) as many entries and
 * counts a plain match twice; instead, a query costs one lookup per additional language, which nearly always
 * finds an empty list.
 *
 * Terms never contain a space, so that adjacent stem pairs can later be indexed as "stem stem" in the same
 * blocks.
 *
 * Natural text repeats words, so native/text finds and counts the words, and calls back once per distinct
 * word for its analysis and terms. Its cache is a pure memo: earlier analyses never change a result.
 */
/**
 * Returns the terms of the chunks of one document. `language`: language declared by the document (a tag such
 * as "de-AT"); used only if the words are ambiguous, because such declarations are often wrong.
 */
export function analyzeChunks(rows: readonly AnalysisRow[], language: string | null = null): ChunkAnalysis {
  for (const { text, prefix } of rows) {
    assert(text.length + prefix.length <= limits.analyzedRowUnitsMax, 'a row is at most one chunk');
  }
  lexicon ??= openLexicon();
  const fineChunks = rows.map(({ children = [] }) => children);
  const document = {
    texts: rows.map(({ text }) => text),
    prefixes: rows.map(({ prefix }) => prefix),
    sample: sampleRows(rows),
    declared: languageIndexOf(parseLanguageTag(language)),
    fineEnds: Uint32Array.from(fineChunks.flat(), ({ end }) => end),
    fineCounts: Uint32Array.from(fineChunks, ({ length }) => length),
  };
  const analysis = addon.lexiconAnalyze(lexicon, document, analyzer);
  return {
    ...analysis,
    languages: Array.from(analysis.languages, (position) => languages[position] ?? null),
  };
}

/**
 * Returns the packed form of a TermBlock, about a third of its bytes for a document of several rows, in which it
 * is stored. The engine takes either (native/FORMAT.md).
 */
export function packTerms(block: Uint8Array): Uint8Array {
  return addon.termBlockPack(block);
}

/**
 * Returns the terms of the fine chunks of one chunk, identical to those of `analyzeChunks`. `language`: that of
 * its row from `analyzeChunks`.
 */
export function encodeFineTerms(
  { text, children }: { readonly text: string; readonly children: readonly FineSpan[] },
  language: Language | null,
): Uint8Array {
  lexicon ??= openLexicon();
  const ends = Uint32Array.from(children, ({ end }) => end);
  return addon.lexiconFineTerms(lexicon, text, ends, languageIndexOf(language), analyzer);
}

/** Opened on first use: most threads never analyze text. */
let lexicon: LexiconHandle | null = null;

function openLexicon(): LexiconHandle {
  const functionWords = listStopWords().filter((word) => /^[a-z]+$/.test(word));
  return addon.lexiconOpen({
    termUnitsMax: limits.termUnitsMax,
    compoundRunsMax: limits.compoundRunsMax,
    segmenterUnitsMax: limits.segmenterUnitsMax,
    stemUnitsMax: limits.stemUnitsMax,
    entriesMax: limits.wordCacheEntriesMax,
    stemming: Uint8Array.from(languages, stemmingOf),
    functionWords: {
      words: functionWords,
      languages: functionWords.map((word) => Uint8Array.from(findStopLanguages(word))),
    },
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

/** Stemming of words of ASCII letters: 0 for none, 1 in the lexicon, 2 by `analyzer.hash`. */
function stemmingOf(language: Language): number {
  if (language === 'en') return 1;
  return stemmedLanguages.includes(language) ? 2 : 0;
}

function languageIndexOf(language: Language | null): number {
  return language === null ? -1 : languages.indexOf(language);
}

/**
 * Returns rows spread evenly over the document, so that a table or a quotation alone does not determine its
 * language.
 */
function sampleRows(rows: readonly AnalysisRow[]): string[] {
  const sample: string[] = [];
  const step = Math.max(1, rows.length / limits.languageSampleRowsMax);
  for (let index = 0; index < rows.length; index += step) sample.push(rows[Math.floor(index)]!.text);
  return sample;
}

import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import { type Language, LanguageVotes, languageOfTag, languages } from './languages.ts';
import { Lexicon, type LexiconEntry } from './lexicon.ts';
import { scanWords } from './scan.ts';
import { TermBlockPacker } from './term-block.ts';

/**
 * What is indexed of one coarse chunk: its text, and its heading prefix as a field of its own. A row whose
 * text has no words (white space, rules, emoji) gets no entries, so that its prefix alone never finds it.
 */
export interface AnalysisRow {
  readonly text: string;
  readonly prefix: string;
}

export interface AnalysedChunks {
  /** A TermBlock with one row per input row. */
  readonly block: Uint8Array;
  /**
   * The language by which each row was stemmed; null where unsure. Their union is what `analyseQuery`
   * needs.
   */
  readonly languages: readonly (Language | null)[];
  /** Occurrences of terms, body and prefix together. */
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
 * blocks. The lexicon is a pure memo: what was analysed before changes no result.
 */
const lexicon = new Lexicon();

/**
 * Terms of the chunks of one document. `language` is what the document says about itself (a tag such as
 * "de-AT"); it only decides where the words themselves leave doubt, because such declarations are often
 * wrong.
 */
export function analyseChunks(rows: readonly AnalysisRow[], language: string | null = null): AnalysedChunks {
  const fallback = documentLanguage(rows) ?? languageOfTag(language);
  const packer = new TermBlockPacker(rows.length);
  const rowLanguages: (Language | null)[] = [];
  let tokens = 0;
  for (const row of rows) {
    assert(row.text.length + row.prefix.length <= limits.analysedRowUnitsMax, 'a row is one chunk');
    const votes = new LanguageVotes();
    const body = scan(row.text, votes);
    const prefix = body.length === 0 ? [] : scan(row.prefix, null);
    const rowLanguage = body.length === 0 ? null : (votes.winner() ?? fallback);
    rowLanguages.push(rowLanguage);
    tokens += packer.add(body, prefix, rowLanguage === null ? -1 : languages.indexOf(rowLanguage));
  }
  return { block: packer.finish(), languages: rowLanguages, tokens, terms: packer.entries };
}

/** Decided on rows spread evenly over the document, so that a table or a quotation does not decide alone. */
function documentLanguage(rows: readonly AnalysisRow[]): Language | null {
  const votes = new LanguageVotes();
  const step = Math.max(1, rows.length / limits.languageSampleRowsMax);
  for (let index = 0; index < rows.length; index += step) scan(rows[Math.floor(index)]!.text, votes);
  return votes.winner();
}

function scan(text: string, votes: LanguageVotes | null): LexiconEntry[] {
  const entries: LexiconEntry[] = [];
  scanWords(text, {
    word(surface) {
      const entry = lexicon.word(surface);
      if (entry.pieces.length === 0) return;
      entries.push(entry);
      votes?.add(entry.stops);
    },
    gram(gram) {
      entries.push(lexicon.gram(gram));
      votes?.add([]);
    },
  });
  return entries;
}

import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { queryLimits } from '../core/query-limits.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import type { Collection } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { VersionRecord, Versions } from '../storage/versions.ts';
import type { SearchableIndex } from './search-components.ts';
import type { Vocabulary } from './vocabulary.ts';
import { VocabularyBuilder, type VocabularyText } from './vocabulary-builder.ts';

export interface VocabularyReaderOptions {
  readonly versions: Pick<Versions, 'getMany'>;
  readonly contents: { readonly chunks: Pick<Contents['chunks'], 'readLayout' | 'read'> };
  readonly backgroundScheduler: Pick<BackgroundScheduler, 'slice'>;
}

/** A vocabulary, and whether a full reading would have had more documents or text. */
export interface VocabularySample {
  readonly vocabulary: Vocabulary;
  readonly isPartial: boolean;
}

/** Limits of one reading. */
interface ReadingLimits {
  readonly documentsMax: number;
  /** UTF-16 units of all documents together. */
  readonly textUnitsMax: number;
}

const fullLimits: ReadingLimits = {
  documentsMax: queryLimits.vocabularyDocumentsMax,
  textUnitsMax: queryLimits.vocabularyTextUnitsMax,
};
const sampleLimits: ReadingLimits = {
  documentsMax: queryLimits.vocabularySampleDocumentsMax,
  textUnitsMax: queryLimits.vocabularySampleTextUnitsMax,
};
const batchSize = 8;
const noDeadlineMs = 0xffffffff;

/** Reads vocabularies from the stored text of documents, because the shards keep only hashes of terms. */
export class VocabularyReader {
  readonly #options: VocabularyReaderOptions;
  #isStopped = false;

  constructor(options: VocabularyReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads the words and titles of a collection in the background, which takes seconds for 10,000 documents.
   * Errors: those of `index.list`; `unavailable` after `stop`.
   */
  async readAll(collection: Collection, index: Pick<SearchableIndex, 'list'>): Promise<Vocabulary> {
    const { vocabulary } = await this.#read(collection, index, fullLimits);
    return vocabulary;
  }

  /** Same as `readAll`, but reads some documents only, which takes a fraction of a second. */
  async readSample(collection: Collection, index: Pick<SearchableIndex, 'list'>): Promise<VocabularySample> {
    return this.#read(collection, index, sampleLimits);
  }

  /** Ends the readings in progress with `unavailable`. */
  stop(): void {
    this.#isStopped = true;
  }

  async #read(
    { collectionId, languages }: Collection,
    index: Pick<SearchableIndex, 'list'>,
    limits: ReadingLimits,
  ): Promise<VocabularySample> {
    const { versions, backgroundScheduler } = this.#options;
    const yieldToEventLoop = backgroundScheduler.slice();
    const builder = new VocabularyBuilder(languages);
    const listed = (await index.list(null, fullLimits.documentsMax, noDeadlineMs)).sort();
    const chosen = pickEvenly(listed, limits.documentsMax);
    const unitsMax = unitsOfEach(limits, chosen.length);
    const isReduced = unitsMax < unitsOfEach(fullLimits, listed.length);
    let isPartial = chosen.length < listed.length;
    for (let start = 0; start < chosen.length; start += batchSize) {
      for (const record of versions.getMany(collectionId, [...chosen.subarray(start, start + batchSize)])) {
        const pause = yieldToEventLoop();
        if (pause !== null) await pause;
        if (this.#isStopped) throw shuttingDownError();
        if (record === undefined) continue;
        const text = this.#readText(record, unitsMax);
        if (text === null) continue;
        if (text.isCut && isReduced) isPartial = true;
        builder.add(record.version, text, record.expiresAt);
      }
    }
    return { vocabulary: await builder.build(yieldToEventLoop), isPartial };
  }

  /** Returns the title and the start of the text; null if the document was deleted meanwhile. */
  #readText(
    { documentId }: VersionRecord,
    unitsMax: number,
  ): (VocabularyText & { readonly isCut: boolean }) | null {
    const { chunks } = this.#options.contents;
    const layout = chunks.readLayout(documentId);
    if (layout === undefined) return null;
    const { title, chunkStarts } = layout;
    const texts: string[] = [];
    let units = 0;
    let chunk = 0;
    for (; chunk < chunkStarts.length && units < unitsMax; chunk += 1) {
      const [stored] = chunks.read([{ documentId, chunk }]);
      if (stored === undefined) break;
      texts.push(stored.text);
      units += stored.text.length;
    }
    return { title, texts, isCut: chunk < chunkStarts.length };
  }
}

/** Returns the bound of the text of each document: equal shares, so that the words of all of them are suggested. */
function unitsOfEach({ textUnitsMax }: ReadingLimits, documents: number): number {
  return Math.min(queryLimits.vocabularyDocumentUnitsMax, Math.floor(textUnitsMax / documents));
}

/** Returns at most `countMax` of the values, at equal distances. */
function pickEvenly(values: Float64Array, countMax: number): Float64Array {
  if (values.length <= countMax) return values;
  return Float64Array.from(
    { length: countMax },
    (_, i) => values[Math.floor((i * values.length) / countMax)]!,
  );
}

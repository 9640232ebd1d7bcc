import { findJudgedFolders, readJudgedSet, sampleEvenly } from '../../src/eval/judged-set.ts';
import { formatNumber } from '../report/format-number.ts';
import type { BenchContext } from './bench-case.ts';
import { Corpus, type CorpusDocument } from './corpus.ts';
import { type CorpusRecord, readCorpusFile } from './corpus-file.ts';
import { BenchUsageError } from './flag-specs.ts';
import type { BenchOptions } from './options.ts';

export interface DocumentSource {
  /** Returns document `index`, from 0. */
  document(index: number): CorpusDocument;
}

/** Documents and questions of a run. */
export interface TextCorpus extends DocumentSource {
  /** Number of documents; their indexes are below it. */
  readonly documents: number;
  /** Returns a question; `index` is any integer from 0. */
  question(index: number): string;
}

/** Origin of documents and questions, for the report. */
export interface CorpusSource {
  /** `generated`, or the name of the judged set. */
  readonly name: string;
  /** A sentence. */
  readonly description: string;
}

/** A corpus with the context of the run, whose options describe it. */
export interface CorpusContext {
  readonly corpus: TextCorpus;
  readonly source: CorpusSource;
  /** With real text, `documents`, `wordsPerDocument` and `questions` are those of the corpus. */
  readonly context: BenchContext;
}

/**
 * Opens the corpus that the options name: that of --judged, else a generated one. Errors: `BenchUsageError`
 * for options that contradict each other or a file that cannot be read.
 */
export async function openCorpus(context: BenchContext): Promise<CorpusContext> {
  const { options } = context;
  if (options.judged === null) {
    if (options.corpusFile !== null)
      throw new BenchUsageError('--corpus requires --judged, the folder with the queries.');
    const corpus = new Corpus({ ...options, documents: Math.max(...options.documents) });
    return { corpus, source: generatedSource(options), context };
  }
  const { corpus, name, words } = await readCorpus(options.judged, options);
  const documents = [corpus.documents];
  const { questions } = corpus;
  return {
    corpus,
    source: { name, description: describe(corpus, name, options) },
    context: { ...context, options: { ...options, documents, questions, wordsPerDocument: words } },
  };
}

function generatedSource({ wordsPerDocument, questions, seed }: BenchOptions): CorpusSource {
  return {
    name: 'generated',
    description: `Corpus: generated documents of about ${wordsPerDocument} words and ${formatNumber(questions, 0)} different questions (seed ${seed}).`,
  };
}

function describe(corpus: JudgedCorpus, name: string, { corpusFile }: BenchOptions): string {
  const { documents, questions, textBytes } = corpus;
  const origin = corpusFile === null ? `\`${name}\`` : `a corpus file, with the queries of \`${name}\``;
  return `Corpus: ${origin}: ${formatNumber(documents, 0)} documents (${formatNumber(textBytes / 1e6, 1)} MB of text) and ${formatNumber(questions, 0)} different questions.`;
}

async function readCorpus(
  folder: string,
  { corpusFile, documentsMax, questions }: BenchOptions,
): Promise<{ readonly corpus: JudgedCorpus; readonly name: string; readonly words: number }> {
  const folders = await findJudgedFolders(folder);
  const [first = folder] = folders;
  if (folders.length > 1)
    throw new BenchUsageError(`${folder} contains ${folders.length} sets; specify the folder of one set.`);
  const set = await readJudgedSet(first);
  const records =
    corpusFile === null
      ? set.documents.filter(({ text }) => text.trim() !== '').slice(0, documentsMax ?? undefined)
      : await readCorpusFile(corpusFile, documentsMax);
  const texts = sampleEvenly(set.questions, questions).map(({ text }) => text);
  const words = records.reduce((sum, { text }) => sum + (text.match(/\S+/g)?.length ?? 0), 0);
  return {
    corpus: new JudgedCorpus(records, texts),
    name: set.name,
    words: Math.round(words / records.length),
  };
}

/** Real documents and questions. */
class JudgedCorpus implements TextCorpus {
  readonly #records: readonly CorpusRecord[];
  readonly #questions: readonly string[];
  readonly textBytes: number;

  constructor(records: readonly CorpusRecord[], questions: readonly string[]) {
    this.#records = records;
    this.#questions = questions;
    this.textBytes = records.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  }

  get documents(): number {
    return this.#records.length;
  }

  get questions(): number {
    return this.#questions.length;
  }

  document(index: number): CorpusDocument {
    const { id, text } = this.#records[index]!;
    return { path: id, text };
  }

  question(index: number): string {
    return this.#questions[index % this.#questions.length]!;
  }
}

/** Documents `first` to the end of a corpus, repeated without end under different paths. */
export class RepeatedDocuments implements DocumentSource {
  readonly #corpus: TextCorpus;
  readonly #first: number;

  constructor(corpus: TextCorpus, first: number) {
    this.#corpus = corpus;
    this.#first = first;
  }

  document(index: number): CorpusDocument {
    const count = this.#corpus.documents - this.#first;
    const { path, text } = this.#corpus.document(this.#first + (index % count));
    return { path: `${Math.floor(index / count)}/${path}`, text };
  }
}

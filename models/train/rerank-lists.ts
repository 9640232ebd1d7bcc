import { toLightStem } from '../../src/models/light-stem.ts';
import { StaticEmbedder } from '../../src/models/static-embedder.ts';
import { stopWords } from '../../src/text/stop-words.ts';
import { forEachWord, normalizeWord } from '../../src/text/wordpiece.ts';
import { Bm25 } from './bm25.ts';
import { readPassages, sources, type TrainingPassage } from './corpus.ts';
import { FeatureExtractor } from './feature-extractor.ts';
import { questionFrames } from './question-frames.ts';
import { featureCount } from './rerank-features.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { TerminalProgress } from './terminal-progress.ts';
import { topRows } from './top-rows.ts';

/**
 * One of this many articles is held out from the embedding's training; must equal the value in
 * contrastive.cpp.
 */
export const heldOutEvery = 40;

const candidateDepth = 100;
const hardCandidates = 14;
const otherCandidates = 9;
/** Random passages, so that the network learns that matching nothing is wrong. */
const randomCandidates = 8;
const emptyTextShare = 0.1;
/** Documents per query: the relevant one first, then the candidates. */
export const listLength: number = 1 + hardCandidates + otherCandidates + randomCandidates;

const functionWords: ReadonlySet<string> = new Set(stopWords.en.split(/\s+/));
const questionSource = sources.findIndex(({ file }) => file === 'medquad-question-answer');

/** Lists of documents, one list per query, the relevant document first: [lists x listLength x featureCount]. */
export interface RerankLists {
  readonly features: Float32Array;
  readonly listCount: number;
}

interface PseudoQuery {
  readonly text: string;
  /** Sentences of the relevant document; without the query's sentence if the query was taken from it. */
  readonly sentences: readonly string[];
  /** Whether other passages of the article answer the query as well. */
  readonly isAnsweredByArticle: boolean;
  /** Whether the documents contain their title, as in a search. */
  readonly hasTitle: boolean;
}

function stemWords(text: string): string[] {
  const stems: string[] = [];
  forEachWord(text, (raw) => stems.push(toLightStem(normalizeWord(raw))));
  return stems;
}

function withTitle(passage: TrainingPassage, body: string): string {
  return passage.heading === null
    ? `${passage.title}\n${body}`
    : `${passage.title} > ${passage.heading}\n${body}`;
}

/** Keeps most content words and few function words of a sentence, as in a typical search query. */
function thinToKeywords(sentence: string, random: SeededRandom): string {
  const keepProbability = 0.3 + 0.5 * random.nextFloat();
  const words: string[] = [];
  forEachWord(sentence, (word) => {
    const probability = functionWords.has(word.toLowerCase()) ? 0.25 : keepProbability;
    if (random.nextFloat() < probability && words.length < 14) words.push(word);
  });
  return words.join(' ');
}

function addQuestionFrame(text: string, probability: number, random: SeededRandom): string {
  return random.nextFloat() < probability ? `${random.pick(questionFrames)} ${text}` : text;
}

/**
 * Document lengths. A search reranks single sentences as well as pages: a list has one of these lengths, or
 * all of them mixed.
 */
const lengths = ['passage', 'passage', 'sentence', 'long'] as const;
const mixedLengthShare = 0.3;
type Length = (typeof lengths)[number];

/** Returns the sentence that shares most stems with the query, in half of the cases with its neighbor. */
function pickBestSentence(
  sentences: readonly string[],
  queryStems: ReadonlySet<string>,
  random: SeededRandom,
): string {
  const shared = sentences.map(
    (sentence) => new Set(stemWords(sentence).filter((stem) => queryStems.has(stem))).size,
  );
  const chosen = shared.indexOf(Math.max(...shared));
  return sentences.slice(chosen, chosen + 1 + random.nextInt(2)).join(' ');
}

function createPseudoQuery(passage: TrainingPassage, random: SeededRandom): PseudoQuery {
  const { sentences } = passage;
  const kind = random.nextFloat();
  if (passage.source === questionSource) {
    return { text: passage.title, sentences, isAnsweredByArticle: true, hasTitle: false };
  }
  if (kind < 0.25 || sentences.length < 2) {
    const text = addQuestionFrame([passage.title, passage.heading ?? ''].join(' '), 0.5, random);
    return { text, sentences, isAnsweredByArticle: true, hasTitle: false };
  }
  const chosen = random.nextInt(sentences.length);
  const text = addQuestionFrame(thinToKeywords(sentences[chosen]!, random), 0.5, random);
  if (kind < 0.75) return { text, sentences, isAnsweredByArticle: false, hasTitle: true };
  const rest = sentences.filter((_, index) => index !== chosen);
  return { text, sentences: rest, isAnsweredByArticle: false, hasTitle: true };
}

async function readHeldOutPassages(folder: string, progress: TerminalProgress): Promise<TrainingPassage[]> {
  const passages: TrainingPassage[] = [];
  for await (const passage of readPassages(folder)) {
    if (passage.article % heldOutEvery === 0) passages.push(passage);
    progress.update(`reading held-out articles: ${passages.length} passages`);
  }
  return passages;
}

/** Retrieves candidates as a search does: BM25 and the embedding, fused. */
class FirstStageRetriever {
  readonly #bm25: Bm25;
  readonly #embedder: StaticEmbedder;
  readonly #vectors: Float32Array;

  private constructor(bm25: Bm25, embedder: StaticEmbedder, vectors: Float32Array) {
    this.#bm25 = bm25;
    this.#embedder = embedder;
    this.#vectors = vectors;
  }

  static async build(texts: readonly string[], embedder: StaticEmbedder): Promise<FirstStageRetriever> {
    const bm25 = new Bm25(texts.map(stemWords), { k1: 1.2, b: 0.6 });
    return new FirstStageRetriever(bm25, embedder, (await embedder.embed(texts, 'document')).vectors);
  }

  async findCandidates(query: string): Promise<number[]> {
    const lexical = this.#bm25.scores(stemWords(query).filter((stem) => !functionWords.has(stem)));
    const { vectors: queryVector } = await this.#embedder.embed([query], 'query');
    const top = lexical.reduce((most, score) => Math.max(most, score), 1e-9);
    const fused = lexical.map((score, row) => {
      let cosine = 0;
      for (let i = 0, at = row * queryVector.length; i < queryVector.length; i += 1, at += 1) {
        cosine += queryVector[i]! * this.#vectors[at]!;
      }
      return score / top + 0.8 * cosine;
    });
    return topRows(fused, candidateDepth);
  }
}

/** Returns the first candidates and a random sample of the others. */
function sampleCandidates(candidates: readonly number[], random: SeededRandom): number[] {
  const chosen = candidates.slice(0, hardCandidates);
  const others = candidates.slice(hardCandidates);
  while (chosen.length < hardCandidates + otherCandidates && others.length > 0) {
    chosen.push(...others.splice(random.nextInt(others.length), 1));
  }
  return chosen;
}

/**
 * Renders the documents of one list: the passages at `rows`, the first of them with the sentences of the
 * query.
 */
function renderList(
  passages: readonly TrainingPassage[],
  rows: readonly number[],
  query: PseudoQuery,
  random: SeededRandom,
): string[] {
  const queryStems = new Set(stemWords(query.text));
  const mixed = random.nextFloat() < mixedLengthShare;
  const common = random.pick(lengths);
  return rows.map((row, index) => {
    const passage = passages[row]!;
    const sentences = index === 0 ? query.sentences : passage.sentences;
    if (index > 0 && index >= rows.length - randomCandidates && random.nextFloat() < emptyTextShare)
      return '';
    const length: Length = mixed ? random.pick(lengths) : common;
    if (length === 'sentence') return pickBestSentence(sentences, queryStems, random);
    const next = [passages[row + 1], passages[row + 2]].filter((other) => other?.article === passage.article);
    const more = length === 'long' ? next.flatMap((other) => other?.sentences ?? []) : [];
    const body = [...sentences, ...more].join(' ');
    return query.hasTitle ? withTitle(passage, body) : body;
  });
}

/**
 * Builds lists of pseudo-queries over articles held out from the embedding's training, each with its relevant
 * document and with wrong ones that the first stage of a search ranks high.
 */
export async function buildRerankLists(
  options: { data: string; embedding: string; idfFile: string; queries: number; random: SeededRandom },
  progress: TerminalProgress,
): Promise<RerankLists> {
  const { random } = options;
  const passages = await readHeldOutPassages(options.data, progress);
  const embedder = await StaticEmbedder.open('first-stage', options.embedding);
  const firstStage = await FirstStageRetriever.build(
    passages.map(({ sentences }) => sentences.join(' ')),
    embedder,
  );
  const reader = await FeatureExtractor.open(options.embedding, options.idfFile);
  const features = new Float32Array(options.queries * listLength * featureCount);
  let lists = 0;
  for (let attempt = 0; attempt < 2 * options.queries && lists < options.queries; attempt += 1) {
    const row = random.nextInt(passages.length);
    const passage = passages[row]!;
    const query = createPseudoQuery(passage, random);
    if (stemWords(query.text).length < 2) continue;
    const candidates = (await firstStage.findCandidates(query.text)).filter(
      (other) =>
        other !== row && !(query.isAnsweredByArticle && passages[other]!.article === passage.article),
    );
    const negatives = sampleCandidates(candidates, random);
    if (negatives.length !== hardCandidates + otherCandidates) continue;
    while (negatives.length + 1 < listLength) negatives.push(random.nextInt(passages.length));
    const read = await reader.extract(query.text, renderList(passages, [row, ...negatives], query, random));
    features.set(read.features, lists * listLength * featureCount);
    lists += 1;
    progress.update(`pseudo-queries for the reranker: ${lists} of ${options.queries}`);
  }
  await reader.close();
  await embedder.close();
  return { features: features.slice(0, lists * listLength * featureCount), listCount: lists };
}

import { FeatureReader } from '../../src/models/feature-reranker.ts';
import { lightStem } from '../../src/models/light-stem.ts';
import { featureCount } from '../../src/models/rerank-features.ts';
import { StaticEmbedder } from '../../src/models/static-embedder.ts';
import { stopWords } from '../../src/text/stop-words.ts';
import { eachWord, normaliseWord } from '../../src/text/wordpiece.ts';
import { best } from './best.ts';
import { Bm25 } from './bm25.ts';
import { type Passage, readPassages, sources } from './corpus.ts';
import type { Progress } from './progress.ts';
import { questionFrames } from './question-frames.ts';
import type { Random } from './random.ts';

/** Every so many articles one is kept from the embedding's training (contrastive.cpp says the same). */
export const heldOutEvery = 40;

const candidateDepth = 100;
const hardCandidates = 14;
const otherCandidates = 9;
/** Passages about anything, so that matching nothing is known to be wrong. */
const chanceCandidates = 8;
const emptyShare = 0.1;
/** Documents per query: the right one first, then the candidates. */
export const listLength: number = 1 + hardCandidates + otherCandidates + chanceCandidates;

const functionWords: ReadonlySet<string> = new Set(stopWords.en.split(/\s+/));
const questionSource = sources.findIndex(({ file }) => file === 'medquad-question-answer');

/** Lists of documents for one query each, the right document first: [lists x listLength x featureCount]. */
export interface RerankLists {
  readonly features: Float32Array;
  readonly lists: number;
}

interface PseudoQuery {
  readonly text: string;
  /** What the right document says; lacks a sentence when the query was cut out of it. */
  readonly sentences: readonly string[];
  /** Other passages of the article answer the query as well. */
  readonly articleAnswers: boolean;
  /** Documents carry their title, as they do in a search. */
  readonly titled: boolean;
}

function stemsOf(text: string): string[] {
  const stems: string[] = [];
  eachWord(text, (raw) => stems.push(lightStem(normaliseWord(raw))));
  return stems;
}

function titled(passage: Passage, body: string): string {
  return passage.heading === null
    ? `${passage.title}\n${body}`
    : `${passage.title} > ${passage.heading}\n${body}`;
}

/** Keeps most content words and few function words of a sentence, as somebody who searches would. */
function thin(sentence: string, random: Random): string {
  const kept = 0.3 + 0.5 * random.unit();
  const words: string[] = [];
  eachWord(sentence, (word) => {
    const chance = functionWords.has(word.toLowerCase()) ? 0.25 : kept;
    if (random.unit() < chance && words.length < 14) words.push(word);
  });
  return words.join(' ');
}

function framed(text: string, chance: number, random: Random): string {
  return random.unit() < chance ? `${random.pick(questionFrames)} ${text}` : text;
}

/** A search reranks single sentences as well as pages: lists come in these lengths, or with all of them mixed. */
const lengths = ['passage', 'passage', 'sentence', 'long'] as const;
const mixedShare = 0.3;
type Length = (typeof lengths)[number];

/** The sentence that shares most stems with the query, with its neighbour in half of the cases. */
function bestSentence(sentences: readonly string[], wanted: ReadonlySet<string>, random: Random): string {
  const shared = sentences.map(
    (sentence) => new Set(stemsOf(sentence).filter((stem) => wanted.has(stem))).size,
  );
  const chosen = shared.indexOf(Math.max(...shared));
  return sentences.slice(chosen, chosen + 1 + random.below(2)).join(' ');
}

function pseudoQuery(passage: Passage, random: Random): PseudoQuery {
  const { sentences } = passage;
  const kind = random.unit();
  if (passage.source === questionSource) {
    return { text: passage.title, sentences, articleAnswers: true, titled: false };
  }
  if (kind < 0.25 || sentences.length < 2) {
    const text = framed([passage.title, passage.heading ?? ''].join(' '), 0.5, random);
    return { text, sentences, articleAnswers: true, titled: false };
  }
  const chosen = random.below(sentences.length);
  const text = framed(thin(sentences[chosen]!, random), 0.5, random);
  if (kind < 0.75) return { text, sentences, articleAnswers: false, titled: true };
  const rest = sentences.filter((_, index) => index !== chosen);
  return { text, sentences: rest, articleAnswers: false, titled: true };
}

async function readHeldOut(folder: string, progress: Progress): Promise<Passage[]> {
  const passages: Passage[] = [];
  for await (const passage of readPassages(folder)) {
    if (passage.article % heldOutEvery === 0) passages.push(passage);
    progress.show(`reading held-out articles: ${passages.length} passages`);
  }
  return passages;
}

/** Finds candidates as a search does: BM25 and the embedding, fused. */
class FirstStage {
  readonly #bm25: Bm25;
  readonly #embedder: StaticEmbedder;
  readonly #vectors: Float32Array;

  private constructor(bm25: Bm25, embedder: StaticEmbedder, vectors: Float32Array) {
    this.#bm25 = bm25;
    this.#embedder = embedder;
    this.#vectors = vectors;
  }

  static async build(texts: readonly string[], embedder: StaticEmbedder): Promise<FirstStage> {
    const bm25 = new Bm25(texts.map(stemsOf), { k1: 1.2, b: 0.6 });
    return new FirstStage(bm25, embedder, (await embedder.embed(texts, 'document')).vectors);
  }

  async candidates(query: string): Promise<number[]> {
    const lexical = this.#bm25.scores(stemsOf(query).filter((stem) => !functionWords.has(stem)));
    const { vectors: asked } = await this.#embedder.embed([query], 'query');
    const top = lexical.reduce((most, score) => Math.max(most, score), 1e-9);
    const fused = lexical.map((score, row) => {
      let cosine = 0;
      for (let i = 0, at = row * asked.length; i < asked.length; i += 1, at += 1) {
        cosine += asked[i]! * this.#vectors[at]!;
      }
      return score / top + 0.8 * cosine;
    });
    return best(fused, candidateDepth);
  }
}

/** The first candidates and some of the others. */
function choose(candidates: readonly number[], random: Random): number[] {
  const chosen = candidates.slice(0, hardCandidates);
  const others = candidates.slice(hardCandidates);
  while (chosen.length < hardCandidates + otherCandidates && others.length > 0) {
    chosen.push(...others.splice(random.below(others.length), 1));
  }
  return chosen;
}

/** The documents of one list: the passages at `rows`, the first of them with the sentences of the query. */
function renderList(
  passages: readonly Passage[],
  rows: readonly number[],
  query: PseudoQuery,
  random: Random,
): string[] {
  const wanted = new Set(stemsOf(query.text));
  const mixed = random.unit() < mixedShare;
  const common = random.pick(lengths);
  return rows.map((row, index) => {
    const passage = passages[row]!;
    const sentences = index === 0 ? query.sentences : passage.sentences;
    if (index > 0 && index >= rows.length - chanceCandidates && random.unit() < emptyShare) return '';
    const length: Length = mixed ? random.pick(lengths) : common;
    if (length === 'sentence') return bestSentence(sentences, wanted, random);
    const next = [passages[row + 1], passages[row + 2]].filter((other) => other?.article === passage.article);
    const more = length === 'long' ? next.flatMap((other) => other?.sentences ?? []) : [];
    const body = [...sentences, ...more].join(' ');
    return query.titled ? titled(passage, body) : body;
  });
}

/**
 * Pseudo-queries over articles the embedding has not seen, each with its right document and with wrong ones that the
 * first stage of a search ranks high.
 */
export async function makeRerankLists(
  options: { data: string; embedding: string; rarityFile: string; queries: number; random: Random },
  progress: Progress,
): Promise<RerankLists> {
  const { random } = options;
  const passages = await readHeldOut(options.data, progress);
  const embedder = await StaticEmbedder.open('first-stage', options.embedding);
  const firstStage = await FirstStage.build(
    passages.map(({ sentences }) => sentences.join(' ')),
    embedder,
  );
  const reader = await FeatureReader.open(options.embedding, options.rarityFile);
  const features = new Float32Array(options.queries * listLength * featureCount);
  let lists = 0;
  for (let attempt = 0; attempt < 2 * options.queries && lists < options.queries; attempt += 1) {
    const row = random.below(passages.length);
    const passage = passages[row]!;
    const query = pseudoQuery(passage, random);
    if (stemsOf(query.text).length < 2) continue;
    const found = (await firstStage.candidates(query.text)).filter(
      (other) => other !== row && !(query.articleAnswers && passages[other]!.article === passage.article),
    );
    const wrong = choose(found, random);
    if (wrong.length !== hardCandidates + otherCandidates) continue;
    while (wrong.length + 1 < listLength) wrong.push(random.below(passages.length));
    const read = await reader.read(query.text, renderList(passages, [row, ...wrong], query, random));
    features.set(read.features, lists * listLength * featureCount);
    lists += 1;
    progress.show(`pseudo-queries for the reranker: ${lists} of ${options.queries}`);
  }
  await reader.close();
  await embedder.close();
  return { features: features.slice(0, lists * listLength * featureCount), lists };
}

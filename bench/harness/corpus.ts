import { type RandomStream, randomBelow, randomStream } from './random.ts';

/**
 * Generated corpus: documents and questions about topics, without any download. Word frequencies follow
 * Zipf's law, as in natural language; each topic has its own words, so that vectors cluster and a question
 * has relevant documents. All content is derived from the seed and independent of models and tokenizers, so
 * that runs of different versions are comparable.
 */
export interface CorpusOptions {
  readonly seed: number;
  readonly documents: number;
  /** Mean words per document; single documents have half to one and a half times as many. */
  readonly wordsPerDocument: number;
  /** Number of topics; default: one for every few dozen documents. */
  readonly topics?: number;
}

export interface CorpusDocument {
  readonly path: string;
  readonly text: string;
}

const contentWords = 20_000;
const wordsPerTopic = 150;
const documentsPerTopic = 40;
const functionWordShare = 0.4;
const topicWordShare = 0.55;
const sentencesPerParagraph = 5;

/** The most frequent words of English, in descending order; without them no postings list would be long. */
const functionWords = (
  'the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they ' +
  'you were their one all we can her has there been if more when will would who so no out up'
).split(' ');

const onsets = ['b', 'c', 'd', 'f', 'g', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v'];
const vowels = ['a', 'e', 'i', 'o', 'u'];
const codas = ['', 'n', 'r', 's', 'l'];
const syllables = onsets.flatMap((onset) =>
  vowels.flatMap((vowel) => codas.map((coda) => onset + vowel + coda)),
);

/** Ids of random streams; each purpose has its own. */
const streams = { topic: 1, document: 2, question: 3 } as const;

/** Cumulative probabilities of ranks 0..count-1 under Zipf's law (Mandelbrot's form: 1 / (rank + 2.7)^1.07). */
function zipf(count: number): Float64Array {
  const shares = new Float64Array(count);
  let total = 0;
  for (let rank = 0; rank < count; rank++) {
    total += 1 / (rank + 3.7) ** 1.07;
    shares[rank] = total;
  }
  return shares.map((share) => share / total);
}

/** Draws a rank from cumulative probabilities. */
function drawRank(shares: Float64Array, random: RandomStream): number {
  const draw = random();
  let low = 0;
  let high = shares.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((shares[middle] ?? 1) > draw) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns the content word of a rank: two or three syllables, unique per rank. */
function contentWord(rank: number): string {
  // 100,003 is coprime to the number of pairs, so that adjacent ranks get dissimilar words and all ranks
  // differ.
  const pairs = syllables.length ** 2;
  const pair = (rank * 100_003) % pairs;
  const stem =
    (syllables[Math.floor(pair / syllables.length)] ?? '') + (syllables[pair % syllables.length] ?? '');
  return rank % 3 === 0 ? stem : `${stem}${['ing', 'ed', 'er', 'ly', 'al'][rank % 5]}`;
}

export class Corpus {
  readonly documents: number;
  readonly topics: number;
  readonly #options: CorpusOptions;
  readonly #words = Array.from({ length: contentWords }, (_, rank) => contentWord(rank));
  readonly #wordShares = zipf(contentWords);
  readonly #functionShares = zipf(functionWords.length);
  readonly #topicShares = zipf(wordsPerTopic);
  readonly #topicWords: readonly (readonly string[])[];

  constructor(options: CorpusOptions) {
    this.#options = options;
    this.documents = options.documents;
    this.topics = options.topics ?? Math.max(4, Math.ceil(options.documents / documentsPerTopic));
    this.#topicWords = Array.from({ length: this.topics }, (_, topic) => {
      const random = randomStream(options.seed, streams.topic, topic);
      return Array.from(
        { length: wordsPerTopic },
        () => this.#words[randomBelow(random, contentWords)] ?? '',
      );
    });
  }

  /** Returns document `index`, 0 <= index < documents. */
  document(index: number): CorpusDocument {
    const random = randomStream(this.#options.seed, streams.document, index);
    const topic = randomBelow(random, this.topics);
    const words = Math.max(5, Math.round(this.#options.wordsPerDocument * (0.5 + random())));
    return {
      path: `topic-${topic}/document-${String(index).padStart(7, '0')}.txt`,
      text: this.#text(topic, words, random),
    };
  }

  /** Returns a question about one topic: a few of its words among common ones. `index` is any integer from 0. */
  question(index: number): string {
    const random = randomStream(this.#options.seed, streams.question, index);
    const topic = randomBelow(random, this.topics);
    const words = Array.from({ length: 3 + randomBelow(random, 3) }, () => {
      const subject = this.#topicWord(topic, random);
      return random() < 0.5 ? `${this.#functionWord(random)} ${subject}` : subject;
    });
    return `how ${words.join(' ')}?`;
  }

  /** Returns the topic of question `index`. */
  topicOfQuestion(index: number): number {
    return randomBelow(randomStream(this.#options.seed, streams.question, index), this.topics);
  }

  #text(topic: number, words: number, random: RandomStream): string {
    const sentences: string[] = [];
    for (let left = words; left > 0; ) {
      const length = Math.min(left, 8 + randomBelow(random, 13));
      const sentence = Array.from({ length }, () => this.#word(topic, random)).join(' ');
      const end = sentences.length % sentencesPerParagraph === sentencesPerParagraph - 1 ? '.\n\n' : '. ';
      sentences.push(sentence.charAt(0).toUpperCase() + sentence.slice(1) + end);
      left -= length;
    }
    return sentences.join('').trimEnd();
  }

  #word(topic: number, random: RandomStream): string {
    if (random() < functionWordShare) return this.#functionWord(random);
    if (random() < topicWordShare) return this.#topicWord(topic, random);
    return this.#words[drawRank(this.#wordShares, random)] ?? '';
  }

  #functionWord(random: RandomStream): string {
    return functionWords[drawRank(this.#functionShares, random)] ?? '';
  }

  #topicWord(topic: number, random: RandomStream): string {
    return this.#topicWords[topic]?.[drawRank(this.#topicShares, random)] ?? '';
  }
}

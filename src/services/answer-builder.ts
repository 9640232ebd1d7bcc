import type { AnswerCitation, AnswerResponse, AnswerSentence } from '../schemas/answers.ts';
import type { SnippetResponse } from '../schemas/queries.ts';
import { noAnswerWord } from './answer-prompt.ts';
import type { CitedSentence } from './citation-parser.ts';

type AnswerFields = Pick<
  AnswerResponse,
  'answer' | 'reason' | 'sentences' | 'num_snippets' | 'num_uncited_sentences'
>;

/** Collects the sentences of a model that cite snippets. */
export class AnswerBuilder {
  readonly #snippets: readonly SnippetResponse[];
  readonly #onSentence: (sentence: AnswerSentence) => void;
  readonly #sentences: AnswerSentence[] = [];
  #uncited = 0;
  /** Whether the model said that it has no answer; text after that is ignored. */
  #isDeclined = false;

  /** `onSentence` receives each sentence that the reply will contain. */
  constructor(snippets: readonly SnippetResponse[], onSentence: (sentence: AnswerSentence) => void) {
    this.#snippets = snippets;
    this.#onSentence = onSentence;
  }

  add(sentences: readonly CitedSentence[]): void {
    for (const { text, numbers } of sentences) {
      if (text.replace(/^[^\p{L}]+/u, '').startsWith(noAnswerWord)) this.#isDeclined = true;
      if (this.#isDeclined) return;
      const citations = numbers.flatMap((number) => this.#citationsOf(number));
      if (citations.length === 0) {
        this.#uncited += 1;
        continue;
      }
      const sentence = { text, citations };
      this.#sentences.push(sentence);
      this.#onSentence(sentence);
    }
  }

  finish(): AnswerFields {
    const sentences = this.#sentences;
    return {
      answer: sentences.length === 0 ? null : sentences.map(({ text }) => text).join(' '),
      reason: sentences.length > 0 ? null : this.#reason,
      sentences,
      num_snippets: this.#snippets.length,
      num_uncited_sentences: this.#uncited,
    };
  }

  get #reason(): NonNullable<AnswerResponse['reason']> {
    if (this.#snippets.length === 0) return 'no_snippets';
    return this.#isDeclined || this.#uncited === 0 ? 'no_answer' : 'no_citations';
  }

  /** Returns nothing for a number that no snippet has. */
  #citationsOf(number: number): AnswerCitation[] {
    const snippet = this.#snippets[number - 1];
    if (snippet === undefined) return [];
    const { path, page_span, start_index, end_index, content, score, page_rectangles } = snippet;
    const citation = { number, path, page_span, start_index, end_index, content, score };
    return [page_rectangles === undefined ? citation : { ...citation, page_rectangles }];
  }
}

import { answerLimits } from '../core/answer-limits.ts';
import { AppError } from '../core/app-error.ts';
import { checkInteger, checkQuery, checkQueryControls, checkResultCount } from './checks.ts';
import { SnippetResponse, TopSnippetsRequest } from './queries.ts';
import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, Count, Nullable, OneOf } from './wire.ts';

const retrieval = TopSnippetsRequest.properties;
const snippet = SnippetResponse.properties;

export const AnswerRequest = Component(
  'AnswerRequest',
  'A question that a chat model answers from snippets.',
  {
    collection_name: CollectionName(),
    question: Type.String({
      description: 'The question in natural language, at most 4,096 characters.',
      examples: ['How long do refunds take?'],
    }),
    k: Type.Optional(
      Type.Integer({
        default: answerLimits.snippetsDefault,
        description: `Maximum number of snippets that the model reads, 1 to ${answerLimits.snippetsMax}.`,
        examples: [8],
      }),
    ),
    query_vector: retrieval.query_vector,
    filter: retrieval.filter,
    precise_responses: retrieval.precise_responses,
    reranker: retrieval.reranker,
    latency_mode: retrieval.latency_mode,
    min_score: retrieval.min_score,
    max_per_document: retrieval.max_per_document,
    include_rectangles: retrieval.include_rectangles,
    max_tokens: Type.Optional(
      Type.Integer({
        default: answerLimits.tokensDefault,
        description: `Maximum length of the answer in tokens of the model, ${answerLimits.tokensMin} to 4,096.`,
        examples: [1024],
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Reply with server-sent events: `sentence` for each sentence, then `answer` with the whole reply, or `error` with `status` and `detail`.',
      }),
    ),
  },
);
export type AnswerRequest = Static<typeof AnswerRequest>;

export const AnswerCitation = Component('AnswerCitation', 'A snippet that a sentence cites.', {
  number: Type.Integer({ description: 'Number of the snippet in the prompt, from 1, best first.' }),
  path: Type.String(),
  page_span: snippet.page_span,
  start_index: snippet.start_index,
  end_index: snippet.end_index,
  content: snippet.content,
  score: snippet.score,
  page_rectangles: snippet.page_rectangles,
});
export type AnswerCitation = Static<typeof AnswerCitation>;

export const AnswerSentence = Component('AnswerSentence', 'A sentence of an answer.', {
  text: Type.String({ description: 'The sentence without the numbers of its citations.' }),
  citations: Type.Array(AnswerCitation, {
    description: 'The snippets that the model names for the sentence, at least one.',
  }),
});
export type AnswerSentence = Static<typeof AnswerSentence>;

export const noAnswerReasons = ['no_snippets', 'no_answer', 'no_citations'] as const;

export const AnswerResponse = Component('AnswerResponse', 'An answer with citations.', {
  answer: Nullable(Type.String(), {
    description: 'The sentences, separated by spaces; null if no snippet supports an answer.',
  }),
  reason: Nullable(OneOf(noAnswerReasons), {
    description:
      'Reason why `answer` is null: no snippet was found and the model was not called, the model found no answer in the snippets, or no sentence had a valid citation.',
  }),
  sentences: Type.Array(AnswerSentence),
  num_snippets: Count('Number of snippets that were found for the model.'),
  num_uncited_sentences: Count('Number of sentences without a valid citation, which are left out.'),
  is_truncated: Type.Boolean({ description: 'Whether the answer ended at `max_tokens`.' }),
  model: Type.String({ description: 'Name of the chat model.' }),
  usage: Nullable(
    Type.Object({
      prompt_tokens: Count('Tokens of the prompt.'),
      completion_tokens: Count('Tokens of the reply of the model.'),
    }),
    { description: 'As the service of the model reports it; null if it does not, or was not called.' },
  ),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Warnings about the search for snippets; absent if there are none.',
    }),
  ),
});
export type AnswerResponse = Static<typeof AnswerResponse>;

/** Errors: AppError `bad_request`. */
export function checkAnswer(request: AnswerRequest): void {
  const { question, k, max_tokens: tokens } = request;
  if (question.trim() === '') throw new AppError('bad_request', 'The question is empty.');
  checkQuery(question);
  if (k !== undefined) checkResultCount(k, answerLimits.snippetsMax);
  if (tokens !== undefined)
    checkInteger('max_tokens', tokens, answerLimits.tokensMin, answerLimits.tokensMax);
  const { min_score = null, max_per_document = null } = request;
  checkQueryControls({ min_score, max_per_document });
}

import Type from 'typebox';
import { readAccess } from './expected-statuses.ts';
import { inCollection } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { Nullable, OneOf } from './reply-types.ts';

const AnswerSentence = Type.Object({
  text: Type.String(),
  citations: Type.Array(
    Type.Object({
      number: Type.Integer({ minimum: 1 }),
      path: Type.String(),
      page_span: Type.Tuple([Type.Integer(), Type.Integer()]),
      start_index: Type.Integer(),
      end_index: Type.Integer(),
      content: Type.String(),
      score: Type.Number(),
    }),
    { minItems: 1 },
  ),
});

const AnswerResponse = Type.Object({
  answer: Nullable(Type.String()),
  reason: Nullable(OneOf(['no_snippets', 'no_answer', 'no_citations'])),
  sentences: Type.Array(AnswerSentence),
  num_snippets: Type.Integer(),
  num_uncited_sentences: Type.Integer(),
  is_truncated: Type.Boolean(),
  model: Type.String(),
  usage: Nullable(Type.Object({ prompt_tokens: Type.Integer(), completion_tokens: Type.Integer() })),
  warnings: Type.Optional(Type.Array(Type.String())),
});

/** Operations of answers. */
export const answerTests = {
  answer: {
    expected: readAccess(200),
    buildInput: inCollection({ question: 'What is the harbour wall?', k: 3 }),
    published: published('answers', AnswerResponse),
  },
} satisfies OperationTests;

import { answerLimits } from '../core/answer-limits.ts';
import type { AnswerResponse } from '../schemas/answers.ts';
import { Type } from '../schemas/typebox.ts';
import { TokenBudget } from './token-budget.ts';
import { collectionField, defineTool, maxTokensField } from './tool.ts';

const noAnswer = 'No answer: the snippets of the collection do not support one.';

/** Offered only if the server has a chat model. */
export const answerTool = defineTool({
  name: 'answer',
  title: 'Answer a question',
  description:
    'Lets the chat model of the server answer a question from the most relevant snippets of a collection. Each sentence ends with the numbers of the snippets that it cites, which follow. Use search to read the snippets yourself.',
  fields: {
    collection: collectionField,
    question: Type.String({ description: 'The question, in natural language.' }),
    max_snippets: Type.Optional(
      Type.Integer({
        description: `Maximum number of snippets that the model reads, 1 to ${answerLimits.snippetsMax}; default ${answerLimits.snippetsDefault}.`,
        minimum: 1,
        maximum: answerLimits.snippetsMax,
      }),
    ),
    filter: Type.Optional(Type.Unknown({ description: 'Filter on metadata, as for the tool search.' })),
    max_tokens: maxTokensField,
  },
  run: async (api, { collection, question, max_snippets: k, filter, max_tokens }) => {
    const reply = (await api.call('answers', {
      collection_name: collection,
      question,
      ...(k === undefined ? {} : { k }),
      ...(filter === undefined ? {} : { filter }),
    })) as AnswerResponse;
    if (reply.answer === null) return { text: noAnswer };
    return { text: new TokenBudget(max_tokens).spendStart(renderAnswer(reply)) };
  },
});

function renderAnswer({ sentences }: AnswerResponse): string {
  const text = sentences.map(
    ({ text, citations }) => `${text} ${citations.map(({ number }) => `[${number}]`).join('')}`,
  );
  const citations = new Map(
    sentences.flatMap(({ citations }) => citations.map((citation) => [citation.number, citation])),
  );
  const sources = [...citations.values()]
    .sort((a, b) => a.number - b.number)
    .map(
      ({ number, path, start_index: start, end_index: end }) =>
        `[${number}] ${path}, characters ${start}-${end}`,
    );
  return `${text.join(' ')}\n\n${sources.join('\n')}`;
}

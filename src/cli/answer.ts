import { answerLimits } from '../core/answer-limits.ts';
import { AppError } from '../core/app-error.ts';
import type { AnswerCitation, AnswerResponse, AnswerSentence } from '../schemas/answers.ts';
import { ApiResponseError } from './api-client.ts';
import { type CommandContext, type CommandOptions, type CommandSpec, jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { integerOption, jsonObjectOption } from './option-values.ts';
import type { Terminal } from './terminal.ts';
import { toPrintable, wrapText } from './text-layout.ts';

const textColumnsMax = 100;

export const answerCommand: CommandSpec = {
  usage: 'answer <collection> <question...>',
  settings: 'client',
  summary: 'answer a question with the chat model of the server, with citations',
  options: [
    {
      flags: '-k, --k <count>',
      meaning: `number of snippets that the model reads, up to ${answerLimits.snippetsMax}`,
      default: String(answerLimits.snippetsDefault),
    },
    { flags: '--precise', meaning: 'snippets of about 200 characters instead of about 2,000' },
    { flags: '--filter <json>', meaning: 'only documents with matching metadata' },
    { flags: '--reranker <model>', meaning: 'reorder the best snippets with this model' },
    { flags: '--max-tokens <count>', meaning: 'maximum length of the answer in tokens of the model' },
    jsonOption,
  ],
  examples: [
    'quarry answer handbook "How long do refunds take?"',
    'quarry answer handbook "Who approves travel?" -k 16 --filter \'{"team": "sales"}\'',
  ],
  run: answer,
};

async function answer(
  { api, terminal }: CommandContext,
  [collection = '', ...words]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const filter = jsonObjectOption(options, 'filter');
  const { tokensMin: minimum, tokensMax: maximum } = answerLimits;
  const tokens =
    options.maxTokens === undefined ? null : integerOption(options, 'maxTokens', { minimum, maximum });
  const request = {
    collection_name: collection,
    question: words.join(' '),
    k: integerOption(options, 'k', { minimum: 1, maximum: answerLimits.snippetsMax }),
    ...(filter === null ? {} : { filter }),
    ...(options.precise === true ? { precise_responses: true } : {}),
    ...(options.reranker === undefined ? {} : { reranker: String(options.reranker) }),
    ...(tokens === null ? {} : { max_tokens: tokens }),
  };
  if (options.json === true) {
    terminal.out(JSON.stringify(await api.call<AnswerResponse>('answers', request)));
    return exitCodes.done;
  }
  for await (const { type, data } of api.streamEvents('answers', { ...request, stream: true })) {
    if (type === 'sentence') printSentence(terminal, JSON.parse(data));
    if (type === 'error') throw toError(JSON.parse(data));
    if (type !== 'answer') continue;
    printEnd(terminal, JSON.parse(data));
    return exitCodes.done;
  }
  throw new AppError('bad_gateway', 'The connection ended before the answer was complete. Try again.');
}

function printSentence({ out, columns }: Terminal, { text, citations }: AnswerSentence): void {
  const numbers = citations.map(({ number }) => `[${number}]`).join('');
  wrapText(toPrintable(`${text} ${numbers}`), Math.min(textColumnsMax, columns)).forEach(out);
}

const reasons = {
  no_snippets: 'No answer: no snippet of the collection matches.',
  no_answer: 'No answer: the model found none in the snippets.',
  no_citations: 'No answer: no sentence of the model cites a snippet.',
} as const;

function printEnd(terminal: Terminal, reply: AnswerResponse): void {
  for (const warning of reply.warnings ?? []) terminal.note(`quarry: ${toPrintable(warning)}\n`);
  if (reply.reason !== null) terminal.out(reasons[reply.reason]);
  if (reply.num_uncited_sentences > 0)
    terminal.note(
      `quarry: sentences left out because they cite no snippet: ${reply.num_uncited_sentences}\n`,
    );
  if (reply.is_truncated)
    terminal.note('quarry: the answer is cut off; raise --max-tokens for a longer one\n');
  const citations = new Map(
    reply.sentences.flatMap(({ citations }) => citations.map((citation) => [citation.number, citation])),
  );
  if (citations.size > 0) terminal.out('');
  for (const [, citation] of [...citations].sort(([a], [b]) => a - b)) terminal.out(describe(citation));
}

/** `[1] refunds.txt page 1, characters 0-32`; pages start with 1, as in the replies of `quarry search`. */
function describe({ number, path, page_span: pages, start_index, end_index }: AnswerCitation): string {
  const [first = 0, end = first + 1] = pages;
  const where = end - first > 1 ? `pages ${first + 1}-${end}` : `page ${first + 1}`;
  return `[${number}] ${toPrintable(path)} ${where}, characters ${start_index}-${end_index}`;
}

function toError({ status, detail }: { readonly status: number; readonly detail: string }): ApiResponseError {
  return new ApiResponseError(status, detail, null, false);
}

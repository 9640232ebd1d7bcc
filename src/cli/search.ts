import { AppError } from '../core/app-error.ts';
import { findBestSentence } from '../core/excerpt.ts';
import { textSyntaxOf } from '../core/file-types.ts';
import type {
  DocumentRetrievalResponse,
  PageRetrievalResponse,
  ResultExplanation,
  SnippetResponse,
  TopDocumentsResponse,
  TopPagesResponse,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { Style, StyledText } from './colors.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { collectionOption, jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { facetLines } from './facet-lines.ts';
import {
  controlOptions,
  integerOption,
  jsonObjectOption,
  numberOption,
  readControlOptions,
  vectorOption,
} from './option-values.ts';
import { orderOptions, readOrderOptions } from './order-options.ts';
import { cutExcerpt, renderText } from './rendered-text.ts';
import type { StyledLine } from './styled-text.ts';
import { displayWidth, toPrintable, wrapText } from './text-layout.ts';

const indent = '    ';
const textColumnsMax = 100;

export const searchCommand: CommandSpec = {
  usage: 'search [question...]',
  settings: 'client',
  summary: 'find the snippets, pages or documents that answer a question',
  options: [
    {
      ...collectionOption,
      meaning: 'collection; repeat to search several',
      isRepeatable: true,
    },
    {
      flags: '-k, --k <count>',
      meaning: 'number of results, up to 128 snippets, 1,024 pages or 2,048 documents',
      default: '5',
    },
    { flags: '--pages', meaning: 'return pages instead of snippets', conflicts: ['documents', 'precise'] },
    { flags: '--documents', meaning: 'return documents instead of snippets', conflicts: ['precise'] },
    { flags: '--precise', meaning: 'snippets of about 200 characters instead of about 2,000' },
    { flags: '--filter <json>', meaning: 'only documents with matching metadata' },
    {
      flags: '--reranker <model>',
      meaning: 'reorder the best results with this model, for example zerank-2',
    },
    {
      flags: '--latency-mode <mode>',
      meaning: 'latency mode; high gives better results',
      choices: ['low', 'high'],
    },
    {
      flags: '--also <question>',
      meaning: 'another wording of the question, whose results are fused; up to 7',
      isRepeatable: true,
    },
    {
      flags: '--similar-to <path>',
      meaning: 'find content that is similar to this document; a question is not needed',
    },
    {
      flags: '--as-of <moment>',
      meaning: 'results of an earlier time or moment, in a collection with --history-days',
    },
    { flags: '--diversity <share>', meaning: 'prefer results that differ from each other, 0 to 1' },
    ...controlOptions,
    ...orderOptions,
    { flags: '--include-cursor', meaning: 'print the cursor of the next page of results' },
    {
      flags: '--cursor <cursor>',
      meaning: 'continue after the page that printed this cursor, with the same other options',
    },
    {
      flags: '--vector <numbers>',
      meaning: 'vector of the question, for collections with --model own: JSON or base64',
    },
    {
      flags: '--highlights',
      meaning: 'with --json: positions of the matched words',
      conflicts: ['documents'],
    },
    { flags: '--explain', meaning: 'show the scores and timings of each result' },
    { flags: '--full', meaning: 'print whole snippets and pages instead of 8 lines from the best sentence' },
    jsonOption,
  ],
  examples: [
    'quarry search "how long do refunds take?"',
    'quarry search parental leave --collection handbook --precise -k 10',
    'quarry search --syntax operators \'"parental leave" weeks -"sick pay"\' --max-per-document 1',
    'quarry search "how long do refunds take?" --also "refund period" --collection handbook --collection faq',
    'quarry search --similar-to contracts/2026.pdf --documents --diversity 0.3',
    'quarry search herring --sort -year --facet author',
    'quarry search herring --group-by author:2',
    'quarry search "net revenue 2025" --pages --filter \'{"year": {"$gte": "2024"}}\' --reranker zerank-2',
  ],
  run: search,
};

/** A result of any granularity, prepared for printing. */
interface PrintableResult {
  readonly path: string;
  readonly location: string;
  readonly score: number;
  readonly content: string | null;
  readonly explain: ResultExplanation | undefined;
}

const noGoodMatch = 'No good match: the collection probably does not answer this. Nearest results:';

type QueryReply = TopSnippetsResponse | TopPagesResponse | TopDocumentsResponse;

async function search(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const question = args.join(' ');
  if (options.similarTo === undefined) checkQuestion(args);
  const granularity =
    options.documents === true ? 'documents' : options.pages === true ? 'pages' : 'snippets';
  const filter = jsonObjectOption(options, 'filter');
  const vector = vectorOption(options);
  const request = {
    ...collectionFields(options),
    query: question,
    ...combinationFields(options),
    k: integerOption(options, 'k', { minimum: 1, maximum: 2048 }),
    ...(vector === null ? {} : { query_vector: vector }),
    ...(filter === null ? {} : { filter }),
    ...(options.reranker === undefined ? {} : { reranker: String(options.reranker) }),
    ...(options.latencyMode === undefined ? {} : { latency_mode: String(options.latencyMode) }),
    ...readControlOptions(options),
    ...readOrderOptions(options),
    ...(options.includeCursor === true ? { include_cursor: true } : {}),
    ...(options.cursor === undefined ? {} : { cursor: String(options.cursor) }),
    // The explanation lists the matched words, which select the best sentence of a result.
    ...(options.explain === true || options.json !== true ? { explain: true } : {}),
    ...(granularity === 'pages' ? { include_content: true } : {}),
    ...(options.precise === true ? { precise_responses: true } : {}),
  };
  const reply = await context.api.call<QueryReply>(`queries/top-${granularity}`, request);
  if (options.json === true) {
    context.terminal.out(JSON.stringify(reply));
    return exitCodes.done;
  }
  for (const warning of reply.warnings ?? []) context.terminal.note(`quarry: ${toPrintable(warning)}\n`);
  if (reply.results.length === 0) context.terminal.out('No results.');
  else if (reply.explain?.good_match === false) context.terminal.out(`${noGoodMatch}\n`);
  printResults(context, reply, options);
  for (const facet of reply.facets ?? []) {
    facetLines(facet).forEach(context.terminal.out);
    context.terminal.out('');
  }
  if (options.explain === true && reply.explain !== undefined)
    explanationLines(reply.explain).forEach(context.terminal.out);
  return exitCodes.done;
}

function printResults({ terminal }: CommandContext, reply: QueryReply, options: CommandOptions): void {
  const linesMax = options.full === true ? Number.POSITIVE_INFINITY : 8;
  const columns = Math.min(textColumnsMax, terminal.columns);
  const headings = groupHeadings(reply, options);
  (reply.results as readonly Result[]).map(toPrintableResult).forEach((result, index) => {
    const heading = headings.get(index);
    if (heading !== undefined) terminal.outStyled([span(heading, 'bold')]);
    resultLines(result, index + 1, columns, linesMax).forEach(terminal.outStyled);
    if (options.explain === true && result.explain !== undefined)
      for (const line of explainLines(result.explain, columns)) terminal.outStyled([span(line, 'dim')]);
    terminal.out('');
  });
  const { next_cursor: cursor = null } = reply;
  if (cursor !== null) terminal.out(`For more results, repeat the command with --cursor ${cursor}\n`);
}

/** Returns the headings of groups by the index of their first result. */
function groupHeadings({ groups = [] }: QueryReply, options: CommandOptions): ReadonlyMap<number, string> {
  const [field = ''] = String(options.groupBy).split(':');
  const headings = new Map<number, string>();
  let index = 0;
  for (const { value, results } of groups) {
    headings.set(index, `${field}: ${value === null ? '(no value)' : toPrintable(String(value))}`);
    index += results;
  }
  return headings;
}

function checkQuestion(words: readonly string[]): void {
  if (words.length === 0)
    throw new AppError('bad_request', "missing required argument 'question' (see `quarry search --help`)");
  if (words.join(' ').trim() === '')
    throw new AppError(
      'bad_request',
      'The question is empty. Write it after the command, such as `quarry search "how long do refunds take?"`.',
    );
}

function collectionFields(options: CommandOptions): Record<string, unknown> {
  const [first, ...others] = options.collection as readonly string[];
  return { collection_name: first, ...(others.length === 0 ? {} : { collection_names: others }) };
}

/** Fields for other queries, similar content, and how the results are chosen and shown. */
function combinationFields(options: CommandOptions): Record<string, unknown> {
  const diversity = numberOption(options, 'diversity', { minimum: 0, maximum: 1 });
  const asOf = options.asOf === undefined ? null : String(options.asOf);
  return {
    ...(options.also === undefined ? {} : { queries: options.also }),
    ...(options.similarTo === undefined ? {} : { similar_to: { path: String(options.similarTo) } }),
    ...(asOf === null ? {} : { as_of: asOf }),
    ...(diversity === null ? {} : { diversity }),
    ...(options.highlights === true ? { highlights: true } : {}),
  };
}

type Result = SnippetResponse | PageRetrievalResponse | DocumentRetrievalResponse;

function toPrintableResult(result: Result): PrintableResult {
  const { collection_name: collection } = result;
  const name = collection === undefined ? result.path : `${collection}: ${result.path}`;
  const common = { path: result.path, score: result.score, explain: result.explain };
  if ('page_span' in result) {
    return {
      ...common,
      location: `${name} ${formatPages(result.page_span)}`,
      content: result.content,
    };
  }
  if ('page_index' in result) {
    return {
      ...common,
      location: `${name} ${formatPages([result.page_index])}`,
      content: result.content,
    };
  }
  return { ...common, location: name, content: null };
}

/** Formats a half-open span of zero-based pages as one-based page numbers. */
function formatPages(span: readonly number[]): string {
  const first = (span[0] ?? 0) + 1;
  const last = Math.max(first, span[1] ?? first);
  return first === last ? `page ${first}` : `pages ${first}-${last}`;
}

function span(text: string, style: Style): StyledText {
  return { text, style };
}

function resultLines(result: PrintableResult, rank: number, columns: number, linesMax: number): StyledLine[] {
  const number = `${rank}.`.padEnd(indent.length);
  const score = result.score.toFixed(4);
  const locationLines = wrapText(result.location, columns - indent.length - score.length - 2);
  const gap = ' '.repeat(columns - indent.length - displayWidth(locationLines[0] ?? '') - score.length);
  return [
    [span(`${number}${locationLines[0] ?? ''}`, 'bold'), span(gap + score, 'dim')],
    ...locationLines.slice(1).map((line) => [span(indent + line, 'bold')]),
    ...contentLines(result, columns - indent.length, linesMax).map((line) => [
      span(indent, 'plain'),
      ...line,
    ]),
  ];
}

/** Renders the content and marks the matched words. A long content starts at its best sentence. */
function contentLines(
  { path, content, explain }: PrintableResult,
  columns: number,
  linesMax: number,
): StyledLine[] {
  if (content === null) return [];
  const words = explain?.lexical.words ?? [];
  const syntax = textSyntaxOf(path);
  const render = (text: string) =>
    renderText(text, {
      syntax,
      columns,
      words: words.flat(),
      hasBlankLines: linesMax === Number.POSITIVE_INFINITY,
    });
  const lines = render(content);
  if (lines.length <= linesMax) return lines;
  const start = findBestSentence(content, words)?.start ?? 0;
  const shown = render(cutExcerpt(content, start, syntax)).slice(0, linesMax);
  return [...shown, [span(`... (${lines.length - shown.length} more lines; --full)`, 'dim')]];
}

function explainLines(explain: ResultExplanation, columns: number): string[] {
  const number = (value: number | null) => (value === null ? 'none' : value.toFixed(4));
  const terms =
    explain.lexical.terms.length === 0 ? '' : ` (${explain.lexical.terms.map(toPrintable).join(', ')})`;
  const text =
    `lexical ${number(explain.lexical.score)}${terms}; vector ${number(explain.vector.similarity)}; ` +
    `fused ${number(explain.fused)}; rerank ${number(explain.rerank)}; relevance ${number(explain.relevance)}` +
    (explain.boost === undefined ? '' : `; boost ${number(explain.boost)}`);
  return wrapText(text, columns - indent.length).map((line) => indent + line);
}

function explanationLines(explain: NonNullable<QueryReply['explain']>): string[] {
  const { embed, search: searchMs, rerank, read } = explain.ms;
  const shards = explain.shards.map((shard) => {
    return `  shard ${shard.shard}: ${shard.strategy}, ${shard.candidates} candidates, ${shard.ms.toFixed(1)} ms`;
  });
  const times = [`embed ${embed.toFixed(1)}`, `search ${searchMs.toFixed(1)}`, `rerank ${rerank.toFixed(1)}`];
  return [
    `Milliseconds: ${times.join(', ')}, read ${read.toFixed(1)}`,
    ...shards,
    ...explain.spelling.map(
      ({ typed, read_as }) => `  ${toPrintable(typed)} corrected to ${toPrintable(read_as)}`,
    ),
    ...(explain.looked_at > 0 ? [`  ${explain.looked_at} chunks rescored by term proximity`] : []),
    controlLine(explain.control),
  ];
}

function controlLine(control: NonNullable<QueryReply['explain']>['control']): string {
  const {
    weights,
    min_score: minScore,
    max_per_document: maxPerDocument,
    phrases,
    excluded,
    checked,
  } = control;
  const quoted = (texts: readonly string[]) =>
    texts.map((text) => JSON.stringify(toPrintable(text))).join(', ');
  return [
    `Weights: lexical ${weights.lexical}, vector ${weights.vector}`,
    ...(minScore === null ? [] : [`score at least ${minScore}`]),
    ...(maxPerDocument === null ? [] : [`at most ${maxPerDocument} per document`]),
    ...(phrases.length === 0 ? [] : [`with ${quoted(phrases)}`]),
    ...(excluded.length === 0 ? [] : [`without ${quoted(excluded)}`]),
    ...(checked === 0 ? [] : [`${checked} chunks checked`]),
  ].join('; ');
}

import { answerLimits } from '../core/answer-limits.ts';
import { queryLimits } from '../core/query-limits.ts';
import { type EffectRow, formatNumber, type LimitRow, perRequest, renderEffectTable } from './limit-row.ts';

/** Limits of suggestions that reject a request. */
const suggestionRows: readonly LimitRow[] = [
  {
    limit: 'Suggestions',
    bounds: 'Characters of `query`, and `limit` of suggest',
    value: `${formatNumber(queryLimits.suggestUnitsMax)}, ${formatNumber(queryLimits.suggestionsMax)}`,
    enforcedIn: 'schemas/suggestions.ts suggestUnitsMax',
    status: 400,
    header: null,
    share: 'per request',
  },
  {
    limit: 'Vocabularies waiting to be read',
    bounds: 'Collections of an organization whose first suggestion waits for a sample of the words',
    value: formatNumber(queryLimits.vocabulariesWaitingMax),
    enforcedIn: 'app/suggestions.ts vocabulariesWaitingMax',
    status: 429,
    header: 'waiting-vocabularies',
    share: 'own queue; round robin between organizations',
  },
];

/** Limits of queries with `as_of`. */
const pastQueryRows: readonly LimitRow[] = [
  {
    limit: 'Queries with `as_of`',
    bounds: 'Running at once, and waiting for one organization',
    value: `1, ${formatNumber(queryLimits.pastQueriesWaitingMax)}`,
    enforcedIn: 'app/history.ts pastQueriesWaitingMax',
    status: 429,
    header: 'waiting-past-queries',
    share: 'own queue; round robin between organizations',
  },
  {
    limit: 'Repetitions of a query with `as_of`',
    bounds: 'Searches while documents of the result are replaced',
    value: formatNumber(queryLimits.pastAttemptsMax),
    enforcedIn: 'search/past-search.ts pastAttemptsMax',
    status: 503,
    header: null,
    share: perRequest,
  },
];

/** Limits of suggestions and queries that reject a request. */
export const searchRows: readonly LimitRow[] = [...suggestionRows, ...pastQueryRows];

/** Limits of answers. */
export const answerRows: readonly LimitRow[] = [
  {
    limit: 'Snippets and tokens of an answer',
    bounds: '`k`, and `max_tokens` of answer',
    value: `${formatNumber(answerLimits.snippetsMax)}, ${formatNumber(answerLimits.tokensMax)}`,
    enforcedIn: 'schemas/answers.ts checkAnswer',
    status: 400,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Answers running',
    bounds: 'Answers that the chat model writes, and answers of an organization that wait for it',
    value: `\`QUARRY_CHAT_REQUESTS_MAX\`, ${formatNumber(answerLimits.waitingMax)}`,
    enforcedIn: 'app/answers.ts chatRequestsMax',
    status: 429,
    header: 'waiting-answers',
    share: 'own queue; round robin between organizations',
  },
  {
    limit: 'Reply of the chat model',
    bounds: 'MiB of its stream, characters of its text',
    value: `${formatNumber(answerLimits.replyBytesMax / 2 ** 20)}, ${formatNumber(answerLimits.textUnitsMax)}`,
    enforcedIn: 'models/chat-model.ts replyBytesMax',
    status: 502,
    header: null,
    share: perRequest,
  },
];

/** Limits of queries that shorten or approximate a reply. */
export const queryEffectRows: readonly EffectRow[] = [
  {
    limit: 'Highlights of a result',
    bounds: 'Ranges, and UTF-16 units of the content that are examined',
    value: `${formatNumber(queryLimits.highlightsMax)}, ${formatNumber(queryLimits.highlightedUnitsMax)}`,
    effect: 'further words are not highlighted',
    enforcedIn: 'search/highlights.ts highlightsMax',
  },
  {
    limit: 'Rectangles of a result',
    bounds: 'Lines of text and table cells',
    value: formatNumber(queryLimits.rectanglesMax),
    effect: 'further lines have no rectangle',
    enforcedIn: 'services/line-rectangles.ts rectanglesMax',
  },
  {
    limit: 'Source of similar content',
    bounds: 'Chunks of the document of `similar_to`',
    value: formatNumber(queryLimits.similarRowsMax),
    effect: 'the vector of the document is the mean of its first chunks',
    enforcedIn: 'services/similar-source.ts similarRowsMax',
  },
  {
    limit: 'Diversity',
    bounds: 'Candidates that are compared',
    value: formatNumber(queryLimits.diverseCandidatesMax),
    effect: 'results are chosen from the best candidates',
    enforcedIn: 'search/diversity.ts diverseCandidatesMax',
  },
  {
    limit: 'Vocabulary of suggestions',
    bounds: 'Documents; characters of each and of all; MiB of words and titles',
    value: [
      formatNumber(queryLimits.vocabularyDocumentsMax),
      formatNumber(queryLimits.vocabularyDocumentUnitsMax),
      formatNumber(queryLimits.vocabularyTextUnitsMax),
      formatNumber(queryLimits.vocabularyBytesMax / 2 ** 20),
    ].join(', '),
    effect:
      'the words of further documents and text, and the rarest words, are not suggested; many documents share the characters of all equally',
    enforcedIn: 'search/vocabulary-reader.ts vocabularyDocumentsMax',
  },
  {
    limit: 'Sample of a vocabulary',
    bounds: 'Documents; characters of all',
    value: [
      formatNumber(queryLimits.vocabularySampleDocumentsMax),
      formatNumber(queryLimits.vocabularySampleTextUnitsMax),
    ].join(', '),
    effect: 'words of further documents and text are suggested when the whole vocabulary has been read',
    enforcedIn: 'search/vocabulary-reader.ts vocabularySampleDocumentsMax',
  },
  {
    limit: 'Vocabularies in memory',
    bounds: 'MiB of the server, of an organization; filters of restricted keys of a vocabulary',
    value: [
      formatNumber(queryLimits.vocabulariesBytesMax / 2 ** 20),
      formatNumber(queryLimits.organizationVocabulariesBytesMax / 2 ** 20),
      formatNumber(queryLimits.vocabularyFiltersMax),
    ].join(', '),
    effect: 'a vocabulary is read again when it is needed',
    enforcedIn: 'search/vocabularies.ts vocabulariesBytesMax',
  },
  {
    limit: 'Refresh of a vocabulary',
    bounds: 'Seconds, and multiple of the time that it took to read, between two readings',
    value: `${formatNumber(queryLimits.vocabularyRefreshMsMin / 1_000)}, ${formatNumber(queryLimits.vocabularyRefreshFactor)}`,
    effect: 'words of new documents are suggested later',
    enforcedIn: 'search/vocabularies.ts vocabularyRefreshMsMin',
  },
  {
    limit: 'Context of a suggestion',
    bounds: 'Words before the last',
    value: formatNumber(queryLimits.suggestContextWordsMax),
    effect: 'earlier words are ignored',
    enforcedIn: 'search/vocabulary.ts suggestContextWordsMax',
  },
];

export function renderQueryLimits(): string {
  return `\n## Parts of query replies\n\nThese limits reject no request.\n\n${renderEffectTable(queryEffectRows)}`;
}

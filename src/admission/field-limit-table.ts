import { changeLimits } from '../core/change-limits.ts';
import { limits } from '../core/limits.ts';
import { orderLimits } from '../core/order-limits.ts';
import { queryLimits } from '../core/query-limits.ts';
import { formatNumber, type LimitRow, perRequest } from './limit-row.ts';

function fieldRow(
  limit: string,
  row: Pick<LimitRow, 'bounds' | 'enforcedIn'> & { readonly value: string | number },
): LimitRow {
  const value = typeof row.value === 'number' ? formatNumber(row.value) : row.value;
  return { ...row, limit, value, status: 400, header: null, share: perRequest };
}

/** Limits of the fields of a request. */
export const fieldRows: readonly LimitRow[] = [
  fieldRow('Name, path', {
    bounds: 'UTF-8 bytes of the name of a collection or alias, and of the path of a document',
    value: `${formatNumber(limits.collectionNameBytesMax)} and ${formatNumber(limits.pathBytesMax)}`,
    enforcedIn: 'schemas/checks.ts checkName',
  }),
  fieldRow('Metadata', {
    bounds: 'Bytes of compact JSON',
    value: `${formatNumber(limits.metadataBytesMax)}; up to ${formatNumber(limits.metadataBytesRaisedMax)} with an override`,
    enforcedIn: 'schemas/checks.ts checkMetadata',
  }),
  fieldRow('Metadata schema', {
    bounds: 'Fields of the `metadata_schema` of a collection',
    value: limits.metadataSchemaFieldsMax,
    enforcedIn: 'schemas/checks.ts metadataSchemaFieldsMax',
  }),
  fieldRow('Facets', {
    bounds: 'Fields, values and ranges of one field',
    value: [limits.facetsMax, limits.facetValuesMax, limits.facetRangesMax].map(formatNumber).join(', '),
    enforcedIn: 'search/facets.ts facetsMax',
  }),
  fieldRow('Distinct values of facets', {
    bounds: 'MiB of values that get-document-info-list counts for `facets`',
    value: orderLimits.listFacetBytesMax / 2 ** 20,
    enforcedIn: 'services/document-list.ts listFacetBytesMax',
  }),
  fieldRow('Order by metadata', {
    bounds: 'Fields of `sort`',
    value: orderLimits.sortFieldsMax,
    enforcedIn: 'search/sort.ts sortFieldsMax',
  }),
  fieldRow('Results of a group', {
    bounds: '`size` of `group_by`',
    value: orderLimits.groupSizeMax,
    enforcedIn: 'search/result-groups.ts groupSizeMax',
  }),
  fieldRow('Half-life', {
    bounds: 'Years of 365 days of `half_life` of `boost`',
    value: orderLimits.halfLifeMsMax / 31_536_000_000,
    enforcedIn: 'search/recency-boost.ts halfLifeMsMax',
  }),
  fieldRow('Query', {
    bounds: 'Characters (Unicode code points)',
    value: limits.queryCodePointsMax,
    enforcedIn: 'schemas/checks.ts checkQuery',
  }),
  fieldRow('Operators of a query', {
    bounds: 'Phrases and exclusions',
    value: limits.queryOperatorsMax,
    enforcedIn: 'search/operators.ts queryOperatorsMax',
  }),
  fieldRow('Filter', {
    bounds: 'Levels, conditions, and values of one list',
    value: [limits.filterDepthMax, limits.filterNodesMax, limits.filterValuesMax]
      .map(formatNumber)
      .join(', '),
    enforcedIn: 'search/filter-position.ts filterNodesMax',
  }),
  fieldRow('Results of a query', {
    bounds: '`k` of top-snippets, top-pages and top-documents',
    value: [limits.topSnippetsMax, limits.topPagesMax, limits.topDocumentsMax].map(formatNumber).join(', '),
    enforcedIn: 'schemas/checks.ts checkResultCount',
  }),
  fieldRow('Queries of a request', {
    bounds: '`query` and `queries` of top-snippets, top-pages and top-documents',
    value: queryLimits.queriesPerRequestMax,
    enforcedIn: 'schemas/query-checks.ts checkOtherQueries',
  }),
  fieldRow('Collections of a query', {
    bounds: '`collection_name` and `collection_names`; these times the number of queries',
    value: `${queryLimits.collectionsPerRequestMax}, ${queryLimits.searchesPerRequestMax}`,
    enforcedIn: 'schemas/query-checks.ts checkOtherCollections',
  }),
  fieldRow('Synonyms', {
    bounds: 'Lists of the `synonyms` of a collection, words of a list, characters of a word and of all words',
    value: [
      queryLimits.synonymListsMax,
      queryLimits.synonymsPerListMax,
      queryLimits.synonymUnitsMax,
      queryLimits.synonymUnitsTotalMax,
    ]
      .map(formatNumber)
      .join(', '),
    enforcedIn: 'schemas/synonyms.ts synonymListsMax',
  }),
  fieldRow('Stop words', {
    bounds: 'Words of the `stop_words` of a collection, characters of each',
    value: [queryLimits.stopWordsMax, queryLimits.stopWordUnitsMax].map(formatNumber).join(', '),
    enforcedIn: 'schemas/stop-words.ts stopWordsMax',
  }),
  fieldRow('Curations', {
    bounds:
      'Rules of the `curations` of a collection; queries of a rule, characters of each; pinned and hidden documents; characters of all queries and paths',
    value: [
      queryLimits.curationsMax,
      queryLimits.curationQueriesMax,
      queryLimits.curationQueryUnitsMax,
      queryLimits.pinnedDocumentsMax,
      queryLimits.hiddenDocumentsMax,
      queryLimits.curationUnitsTotalMax,
    ]
      .map(formatNumber)
      .join(', '),
    enforcedIn: 'schemas/curations.ts curationsMax',
  }),
  fieldRow('Diverse results', {
    bounds: '`k` of a query with `diversity`',
    value: queryLimits.diverseResultsMax,
    enforcedIn: 'schemas/query-checks.ts checkDiversity',
  }),
  fieldRow('Highlights', {
    bounds: '`k` of a query with `highlights`',
    value: queryLimits.highlightedResultsMax,
    enforcedIn: 'schemas/query-checks.ts checkHighlights',
  }),
  fieldRow('Results of a vector store search', {
    bounds: '`max_num_results`',
    value: limits.vectorStoreResultsMax,
    enforcedIn: 'schemas/checks.ts checkVectorStoreResults',
  }),
  fieldRow('Fields of a rerank', {
    bounds: '`rank_fields`',
    value: limits.rankFieldsMax,
    enforcedIn: 'schemas/checks.ts checkRankFields',
  }),
  fieldRow('Documents of a request', {
    bounds:
      '`documents` of add-documents, `path` of delete-document, `limit` of get-document-info-list, delete-documents and update-documents',
    value: [limits.batchDocumentsMax, limits.deletePathsMax, limits.listDocumentsMax]
      .map(formatNumber)
      .join(', '),
    enforcedIn: 'schemas/checks.ts checkBatchSize',
  }),
  fieldRow('Text of a request', {
    bounds: '`max_characters` of get-document-text',
    value: limits.textRangeCharactersMax,
    enforcedIn: 'schemas/checks.ts checkTextRange',
  }),
  fieldRow('Alias changes', {
    bounds: '`changes` of update-aliases',
    value: limits.aliasChangesMax,
    enforcedIn: 'schemas/checks.ts checkAliasChanges',
  }),
  fieldRow('Changes of a reply', {
    bounds: '`limit` of get-changes',
    value: changeLimits.perReplyMax,
    enforcedIn: 'schemas/checks.ts checkGetChanges',
  }),
  fieldRow('Wait for a change', {
    bounds: 'Seconds of `wait_seconds`',
    value: changeLimits.waitSecondsMax,
    enforcedIn: 'schemas/checks.ts checkGetChanges',
  }),
  fieldRow('Cursor of a change feed', {
    bounds: 'Characters of `after`',
    value: changeLimits.cursorUnitsMax,
    enforcedIn: 'schemas/checks.ts checkGetChanges',
  }),
  fieldRow('Lifetime of a document', {
    bounds: 'Seconds of `default_ttl_seconds`',
    value: limits.ttlSecondsMax,
    enforcedIn: 'schemas/checks.ts checkTtl',
  }),
  fieldRow('Kept versions', {
    bounds: 'Days of `history_days`',
    value: queryLimits.historyDaysMax,
    enforcedIn: 'schemas/checks.ts checkHistoryDays',
  }),
  fieldRow('Changes since `as_of`', {
    bounds: 'Changes of documents, chunks of replaced and deleted documents, and MiB of their vectors',
    value: [queryLimits.pastChangesMax, queryLimits.pastRowsMax, queryLimits.pastVectorBytesMax / 2 ** 20]
      .map(formatNumber)
      .join(', '),
    enforcedIn: 'search/past-index.ts pastRowsMax',
  }),
  {
    ...fieldRow('Numbers of an embed reply', {
      bounds: 'Texts times dimensions',
      value: limits.embedNumbersMax,
      enforcedIn: 'services/models.ts embedNumbersMax',
    }),
    status: 413,
  },
  {
    ...fieldRow('Vectors of a document', {
      bounds: `Bytes of the vectors that a caller supplies; each has at most ${formatNumber(limits.ownVectorDimensionsMax)} numbers`,
      value: limits.ownVectorBytesMax,
      enforcedIn: 'services/vector-inputs.ts ownVectorBytesMax',
    }),
    status: 413,
  },
  {
    ...fieldRow('Form of an upload', {
      bounds: 'Fields, and bytes of one field',
      value: `${formatNumber(limits.multipartFieldsMax)} and ${formatNumber(limits.multipartFieldBytesMax)}`,
      enforcedIn: 'http/multipart-form.ts multipartFieldsMax',
    }),
    status: 422,
  },
  {
    ...fieldRow('Time of a request', {
      bounds: 'Seconds from the first byte to the reply, except uploads, downloads and event streams',
      value: limits.requestMsMax / 1_000,
      enforcedIn: 'app/request-handler.ts requestMsMax',
    }),
    status: 503,
  },
];

import { limits } from '../core/limits.ts';
import { accountRows } from './account-limit-table.ts';
import { formatNumber, type LimitRow } from './limit-row.ts';
import { renderParseLimits } from './parse-limit-table.ts';

const seconds = (ms: number) => `${formatNumber(ms / 1_000)} s`;
const ownAllowance = 'own allowance';
const perRequest = 'per request';
const fairShare = 'any free capacity, except that the last eighth is shared equally';
const tierSetting = (name: string) => `\`QUARRY_<TIER>_${name}\``;

const requestRows: readonly LimitRow[] = [
  {
    limit: 'Requests running',
    bounds: 'Concurrent requests; probes are exempt',
    value: formatNumber(limits.requestsRunningMax),
    enforcedIn: 'admission/concurrency-limiter.ts ConcurrencyLimiter',
    status: 503,
    header: null,
    share: `${fairShare}; users and anonymous addresses count as organizations`,
  },
  {
    limit: 'Memory of request bodies',
    bounds: 'Bytes of bodies plus 64 per object, list and string and 16 per other value',
    value: 'the larger of 1,000,000,000 and 4 × `QUARRY_BODY_BYTES_MAX`',
    enforcedIn: 'admission/shared-budget.ts SharedBudget',
    status: 429,
    header: 'request-bodies',
    share: 'dynamic: half for one organization, a third each for two, and so on',
  },
  {
    limit: 'Extensions in a list filter',
    bounds: '`extensions` of get-document-info-list, each of at most 64 bytes',
    value: formatNumber(limits.listExtensionsMax),
    enforcedIn: 'schemas/checks.ts checkListFilters',
    status: 400,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Body of a document',
    bounds: 'Bytes of add-document, add-documents and parse-document',
    value: '`QUARRY_BODY_BYTES_MAX`',
    enforcedIn: 'admission/body-limits.ts bodyLimitsFor',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Body of a model call',
    bounds: 'Bytes of embed and rerank; grows with `override_max_bytes_per_request`',
    value: formatNumber(limits.modelBodyBytesMax),
    enforcedIn: 'admission/body-limits.ts bodyLimitsFor',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Body of a query',
    bounds: 'Bytes of all other retrieval operations',
    value: formatNumber(limits.queryBodyBytesMax),
    enforcedIn: 'admission/body-limits.ts bodyLimitsFor',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Body of an MCP message',
    bounds: 'Bytes of a message to `/mcp`',
    value: formatNumber(limits.mcpBodyBytesMax),
    enforcedIn: 'admission/body-limits.ts bodyLimitsFor',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Body of an account call',
    bounds: 'Bytes of calls under `/api` and `/v1/admin`',
    value: `${formatNumber(limits.accountBodyBytesMax)}; ${formatNumber(limits.keyBodyBytesMax)} to add or update an API key`,
    enforcedIn: 'admission/body-limits.ts bodyLimitsFor',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Body of a webhook',
    bounds: 'Bytes of messages from Stripe and marketplaces',
    value: formatNumber(limits.webhookBytesMax),
    enforcedIn: 'admission/body-limits.ts bodyLimitsFor',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Webhooks',
    bounds: 'Messages from one address per minute',
    value: formatNumber(limits.webhooksPerMinuteMax),
    enforcedIn: 'http/request-handler.ts webhooksPerMinuteMax',
    status: 429,
    header: null,
    share: 'per address',
  },
  {
    limit: 'JSON values',
    bounds: 'Values of one body, counted while it arrives',
    value: `${formatNumber(limits.jsonValuesMax)} for documents, ${formatNumber(limits.smallJsonValuesMax)} otherwise`,
    enforcedIn: 'http/json-scanner.ts JsonScanner',
    status: 400,
    header: null,
    share: perRequest,
  },
  {
    limit: 'JSON objects, lists and strings',
    bounds: 'Objects, lists and strings of one body, including field names',
    value: `${formatNumber(limits.jsonNodesMax)} for documents, ${formatNumber(limits.smallJsonValuesMax)} otherwise`,
    enforcedIn: 'http/json-scanner.ts JsonScanner',
    status: 400,
    header: null,
    share: perRequest,
  },
  {
    limit: 'JSON depth and fields',
    bounds: 'Levels of one body, and fields of one object',
    value: `${formatNumber(limits.jsonDepthMax)} and ${formatNumber(limits.jsonMembersMax)}`,
    enforcedIn: 'http/json-scanner.ts JsonScanner',
    status: 400,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Minimum rate of a body',
    bounds: `Bytes per second over ${seconds(limits.bodyRateWindowMs)}, after the first ${formatNumber(limits.bodyRateBytesMin)} bytes`,
    value: formatNumber(limits.bodyBytesPerSecondMin),
    enforcedIn: 'http/read-body.ts BoundedBody',
    status: 408,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Idle time of a body',
    bounds: 'Time without received bytes',
    value: seconds(limits.bodyIdleMsMax),
    enforcedIn: 'http/body-queue.ts BodyQueue',
    status: 408,
    header: null,
    share: perRequest,
  },
];

const documentRows: readonly LimitRow[] = [
  {
    limit: 'Uploads running',
    bounds: 'Concurrent uploads',
    value: formatNumber(limits.uploadsRunningMax),
    enforcedIn: 'admission/upload-limiter.ts UploadLimiter',
    status: 503,
    header: 'uploads-running',
    share: `${fairShare}; then an upload that is idle for one second is canceled for an organization with fewer uploads`,
  },
  {
    limit: 'Size of an upload',
    bounds: 'Bytes of one uploaded file',
    value: '`QUARRY_UPLOAD_BYTES_MAX`',
    enforcedIn: 'http/read-body.ts checkDeclaredBody',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Minimum rate of an upload',
    bounds: `Bytes per second over ${seconds(limits.uploadRateWindowMs)}`,
    value: formatNumber(limits.uploadBytesPerSecondMin),
    enforcedIn: 'http/read-body.ts BoundedBody',
    status: 408,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Text supplied with a file',
    bounds: 'Bytes of the pages of `parsed` content per byte of the file',
    value: `${formatNumber(limits.parsedTextBytesPerFileByteMax)}, or ${formatNumber(limits.smallTextBytesMax)} bytes in total`,
    enforcedIn: 'services/document-uploads.ts checkTextSize',
    status: 413,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Documents per export',
    bounds: 'Documents of one reply of export-documents, which ends earlier after 8 MiB',
    value: formatNumber(limits.exportDocumentsMax),
    enforcedIn: 'schemas/checks.ts checkExportLimit',
    status: 400,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Aliases',
    bounds: 'Aliases of collections of an organization',
    value: formatNumber(limits.aliasesPerOrganizationMax),
    enforcedIn: 'services/collection-names.ts aliasesPerOrganizationMax',
    status: 429,
    header: 'aliases',
    share: ownAllowance,
  },
  {
    limit: 'Ingest queue',
    bounds: 'Documents in the ingest queue',
    value: '`QUARRY_QUEUE_DOCUMENTS_MAX`',
    enforcedIn: 'admission/ingest-admission.ts IngestAdmission',
    status: 429,
    header: null,
    share: fairShare,
  },
  {
    limit: 'Memory and disk',
    bounds: 'Memory of the process, and free disk space; reads continue',
    value: '`QUARRY_MEMORY_BYTES_MAX` and `QUARRY_DISK_RESERVE_BYTES`',
    enforcedIn: 'admission/ingest-admission.ts checkCapacity',
    status: 429,
    header: null,
    share: 'the whole server',
  },
  {
    limit: 'Documents stored',
    bounds: 'Documents of an organization',
    value: tierSetting('DOCUMENTS_MAX'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'documents',
    share: ownAllowance,
  },
  {
    limit: 'Bytes stored',
    bounds: 'Raw bytes of the documents of an organization',
    value: tierSetting('STORAGE_BYTES_MAX'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'storage-bytes',
    share: ownAllowance,
  },
  {
    limit: 'Documents being ingested',
    bounds: 'Documents of an organization in the ingest queue',
    value: tierSetting('INGEST_DOCUMENTS_MAX'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'ingest-documents',
    share: ownAllowance,
  },
  {
    limit: 'Bytes of documents',
    bounds: 'Raw bytes received per minute, including files of parse-document',
    value: tierSetting('DOCUMENT_BYTES_PER_MINUTE'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'document-bytes',
    share: ownAllowance,
  },
  {
    limit: 'Page images waiting',
    bounds: 'Queued requests of an organization for page images',
    value: formatNumber(limits.pageImagesWaitingMax),
    enforcedIn: 'app/retrieval.ts pageImagesWaitingMax',
    status: 429,
    header: 'waiting-page-images',
    share: 'own queue; round robin between organizations',
  },
  {
    limit: 'Files waiting for parse-document',
    bounds: 'Queued calls of an organization',
    value: formatNumber(limits.filesWaitingMax),
    enforcedIn: 'app/services.ts filesWaitingMax',
    status: 429,
    header: 'waiting-files',
    share: 'own queue; round robin between organizations',
  },
];

const queryRows: readonly LimitRow[] = [
  {
    limit: 'Requests per minute',
    bounds: 'Requests of any kind',
    value: tierSetting('REQUESTS_PER_MINUTE'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'requests',
    share: ownAllowance,
  },
  {
    limit: 'Queries per minute',
    bounds: 'Queries',
    value: tierSetting('QUERIES_PER_MINUTE'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'queries',
    share: ownAllowance,
  },
  {
    limit: 'Queries waiting',
    bounds: 'Queued queries of an organization',
    value: formatNumber(limits.queriesWaitingMax),
    enforcedIn: 'app/services.ts queriesWaitingMax',
    status: 429,
    header: 'waiting-queries',
    share:
      'own queue; round robin between organizations, those without a backlog first; under sustained overload only the newest query is queued',
  },
  ...(['embed', 'rerank'] as const).flatMap((kind) =>
    (['fast', 'slow'] as const).map(
      (mode): LimitRow => ({
        limit: `Bytes of ${kind} calls, ${mode}`,
        bounds: 'Charged bytes per minute',
        value: tierSetting(`BYTES_PER_MINUTE_${mode.toUpperCase()}`),
        enforcedIn: 'admission/model-admission.ts ModelAdmission',
        status: 429,
        header: `${kind}-bytes-${mode}`,
        share: ownAllowance,
      }),
    ),
  ),
  {
    limit: 'Rerank calls',
    bounds: 'Fast rerank calls per minute',
    value: tierSetting('RERANK_REQUESTS_PER_MINUTE'),
    enforcedIn: 'admission/model-admission.ts ModelAdmission',
    status: 429,
    header: 'rerank-requests',
    share: ownAllowance,
  },
  {
    limit: 'Bytes of one model call',
    bounds: 'Charged bytes',
    value: `${formatNumber(limits.modelBytesMax)}, or \`override_max_bytes_per_request\``,
    enforcedIn: 'admission/model-admission.ts checkChargedBytes',
    status: 413,
    header: null,
    share: ownAllowance,
  },
  {
    limit: 'Model calls waiting',
    bounds: 'Queued fast calls of an organization',
    value: formatNumber(limits.fastCallsWaitingMax),
    enforcedIn: 'admission/model-admission.ts fastCallsWaitingMax',
    status: 429,
    header: 'waiting-model-calls',
    share: 'own queue; round robin between organizations',
  },
  {
    limit: 'Slow model calls',
    bounds: 'Maximum time in the queue of slow calls',
    value: seconds(limits.slowWaitMsMax),
    enforcedIn: 'admission/slow-call-queue.ts SlowCallQueue',
    status: 429,
    header: 'slow-queue',
    share: 'round robin between organizations',
  },
];

export const limitTable: readonly LimitRow[] = [
  ...requestRows,
  ...documentRows,
  ...queryRows,
  ...accountRows,
];

const sections: readonly (readonly [title: string, rows: readonly LimitRow[]])[] = [
  ['Requests', requestRows],
  ['Documents', documentRows],
  ['Queries and models', queryRows],
  ['Accounts', accountRows],
];

/** Renders the page `docs/reference/limits.md`. */
export function renderLimitsPage(): string {
  const head = `# Limits

Generated from \`src/admission/limit-table.ts\`. Do not edit it by hand.

A rejected request gets the status of its row and an error message that names the limit.
The column "header" is the value of the reply header \`x-quarry-limit\`.
Replies with status 429 and 503 have the headers \`retry-after\` and \`retry-after-ms\`,
or \`x-should-retry: false\` when waiting does not help.

\`<TIER>\` is \`FREE\`, \`STARTER\` or \`TEAMS\`.
A setting of 0 removes the limit; the tier \`enterprise\` and the first organization have none.
An organization on the tier \`free\` stores at most 10,000 documents and 1,000,000,000 bytes by default.

At most ${formatNumber(limits.waitsRunningMax)} requests with \`wait: true\` wait at the same time.
Above that, each organization has a fair share,
and a request beyond the share returns at once with the current status of its document.
`;
  const parts = sections.map(([title, rows]) => {
    const lines = rows.map(
      ({ limit, bounds, value, enforcedIn, status, header, share }) =>
        `| ${limit} | ${bounds} | ${value} | ${status} | ${header === null ? '' : `\`${header}\``} | ${share} | \`${enforcedIn}\` |`,
    );
    return [
      `\n## ${title}\n`,
      '| limit | bounds | value | status | header | share of an organization | enforced in |',
      '|---|---|---|---|---|---|---|',
      ...lines,
      '',
    ].join('\n');
  });
  return head + parts.join('') + renderParseLimits();
}

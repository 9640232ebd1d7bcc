import { limits } from '../core/limits.ts';

/** One limit that can refuse a request. `docs/reference/limits.md` is generated from these rows. */
export interface LimitRow {
  readonly limit: string;
  readonly bounds: string;
  readonly value: string;
  /** File under src/ and a name in it. */
  readonly enforcedIn: string;
  readonly status: 400 | 401 | 408 | 413 | 429 | 503;
  /** Value of the reply header `x-quarry-limit`; null when the header is not sent. */
  readonly header: string | null;
  readonly share: string;
}

const formatNumber = (value: number) => value.toLocaleString('en-US');
const seconds = (ms: number) => `${formatNumber(ms / 1_000)} s`;
const ownAllowance = 'its own allowance';
const perRequest = 'per request';
const fairShare =
  'all of it while there is room; of a reserve of one eighth beyond it an equal part for each organization';
const tierSetting = (name: string) => `\`QUARRY_<TIER>_${name}\``;

const requestRows: readonly LimitRow[] = [
  {
    limit: 'Requests running',
    bounds: 'Requests that run at a time; probes are exempt',
    value: formatNumber(limits.requestsRunningMax),
    enforcedIn: 'admission/concurrency-limiter.ts ConcurrencyLimiter',
    status: 503,
    header: null,
    share: `${fairShare}; people and anonymous addresses count like organizations`,
  },
  {
    limit: 'Memory of request bodies',
    bounds: 'Bytes of bodies plus 64 per object, list and string and 16 per other value',
    value: 'the larger of 1,000,000,000 and 4 × `QUARRY_BODY_BYTES_MAX`',
    enforcedIn: 'admission/shared-budget.ts SharedBudget',
    status: 429,
    header: 'request-bodies',
    share: 'as much as stays free: half for one, a third each for two, and so on',
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
    bounds: 'Bytes of every other operation of retrieval',
    value: formatNumber(limits.queryBodyBytesMax),
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
    value: `${formatNumber(limits.jsonValuesMax)} for documents, ${formatNumber(limits.smallJsonValuesMax)} else`,
    enforcedIn: 'http/json-scanner.ts JsonScanner',
    status: 400,
    header: null,
    share: perRequest,
  },
  {
    limit: 'JSON objects, lists and strings',
    bounds: 'Of one body, names of fields included',
    value: `${formatNumber(limits.jsonNodesMax)} for documents, ${formatNumber(limits.smallJsonValuesMax)} else`,
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
    limit: 'Speed of a body',
    bounds: `Bytes per second over ${seconds(limits.bodyRateWindowMs)}, once ${formatNumber(limits.bodyRateBytesMin)} bytes are held`,
    value: formatNumber(limits.bodyBytesPerSecondMin),
    enforcedIn: 'http/read-body.ts BoundedBody',
    status: 408,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Idle body',
    bounds: 'Time without a byte',
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
    bounds: 'Uploads whose bytes arrive at a time',
    value: formatNumber(limits.uploadsRunningMax),
    enforcedIn: 'admission/upload-limiter.ts UploadLimiter',
    status: 503,
    header: 'uploads-running',
    share: `${fairShare}; then an upload idle for a second gives way to an organization that holds less`,
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
    limit: 'Speed of an upload',
    bounds: `Bytes per second over ${seconds(limits.uploadRateWindowMs)}`,
    value: formatNumber(limits.uploadBytesPerSecondMin),
    enforcedIn: 'http/read-body.ts BoundedBody',
    status: 408,
    header: null,
    share: perRequest,
  },
  {
    limit: 'Ingest queue',
    bounds: 'Documents that wait for parsing and indexing',
    value: '`QUARRY_QUEUE_DOCUMENTS_MAX`',
    enforcedIn: 'admission/ingest-admission.ts IngestAdmission',
    status: 429,
    header: null,
    share: fairShare,
  },
  {
    limit: 'Memory and disk',
    bounds: 'Memory of the process, and space left on the disk; reads continue',
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
    bounds: 'Documents of an organization that wait for parsing and indexing',
    value: tierSetting('INGEST_DOCUMENTS_MAX'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'ingest-documents',
    share: ownAllowance,
  },
  {
    limit: 'Bytes of documents',
    bounds: 'Raw bytes that come in per minute; files of parse-document count',
    value: tierSetting('DOCUMENT_BYTES_PER_MINUTE'),
    enforcedIn: 'admission/quotas.ts Quotas',
    status: 429,
    header: 'document-bytes',
    share: ownAllowance,
  },
  {
    limit: 'Page images waiting',
    bounds: 'Requests of an organization that wait until a page is drawn',
    value: formatNumber(limits.pageImagesWaitingMax),
    enforcedIn: 'app/app.ts pageImagesWaitingMax',
    status: 429,
    header: 'waiting-page-images',
    share: 'organizations take turns; its own places to wait',
  },
  {
    limit: 'Files waiting for parse-document',
    bounds: 'Calls of an organization that wait for a parser',
    value: formatNumber(limits.filesWaitingMax),
    enforcedIn: 'app/services.ts filesWaitingMax',
    status: 429,
    header: 'waiting-files',
    share: 'its own queue; organizations take turns',
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
    bounds: 'Queries of an organization that wait for their turn',
    value: formatNumber(limits.queriesWaitingMax),
    enforcedIn: 'app/services.ts queriesWaitingMax',
    status: 429,
    header: 'waiting-queries',
    share:
      'its own queue; organizations take turns, those without a backlog first; while its queue overflows for a second and more, only its newest query waits',
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
    bounds: 'Fast calls of an organization that wait for their turn',
    value: formatNumber(limits.fastCallsWaitingMax),
    enforcedIn: 'admission/model-admission.ts fastCallsWaitingMax',
    status: 429,
    header: 'waiting-model-calls',
    share: 'its own queue; organizations take turns',
  },
  {
    limit: 'Slow model calls',
    bounds: 'Time that a slow call may wait',
    value: seconds(limits.slowWaitMsMax),
    enforcedIn: 'admission/slow-call-queue.ts SlowCallQueue',
    status: 429,
    header: 'slow-queue',
    share: 'organizations take turns',
  },
];

const accountRows: readonly LimitRow[] = [
  {
    limit: 'Changes of a person',
    bounds: 'Operations under `/api` that change something',
    value: '240 per minute, 2,000 per hour',
    enforcedIn: 'app/accounts.ts changesMax',
    status: 429,
    header: null,
    share: 'per person',
  },
  {
    limit: 'Removals of access',
    bounds: 'Revoked sessions, deleted API keys, removed members, deleted invitations',
    value: '600 per minute, 6,000 per hour',
    enforcedIn: 'app/accounts.ts revocationsMax',
    status: 429,
    header: null,
    share: 'per person, apart from changes',
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

A refused request gets the status of its row and a sentence that names the limit.
Where a header is given, \`x-quarry-limit\` carries it.
Replies with status 429 and 503 say in \`retry-after\` and \`retry-after-ms\` when to try again.

\`<TIER>\` is \`FREE\`, \`STARTER\` or \`TEAMS\`.
A setting of 0 removes the limit; the tier \`enterprise\` and the first organization have none.
An organization on the tier \`free\` stores at most 10,000 documents and 1,000,000,000 bytes by default.

A request with \`wait: true\` waits while fewer than ${formatNumber(limits.waitsRunningMax)} others do.
Beyond that each organization has a fair share of places to wait,
and a request without one is answered at once with the status reached.
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
  return head + parts.join('');
}

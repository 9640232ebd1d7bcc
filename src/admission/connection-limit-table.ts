import { changeLimits } from '../core/change-limits.ts';
import { limits } from '../core/limits.ts';
import { type EffectRow, formatNumber, formatSeconds, renderEffectTable } from './limit-row.ts';

const connectionRows: readonly EffectRow[] = [
  {
    limit: 'Headers',
    bounds: 'Bytes of the request line and the headers',
    value: formatNumber(limits.headerBytesMax),
    effect: 'status 431, and the connection is closed',
    enforcedIn: 'http/server-node.ts headerBytesMax',
  },
  {
    limit: 'TLS handshake and headers',
    bounds: 'Time until the headers of the first request are complete',
    value: `${formatSeconds(limits.headerMsMax)}; 10 s with uWebSockets.js`,
    effect: 'the connection is closed',
    enforcedIn: 'http/server-node.ts headerMsMax',
  },
  {
    limit: 'Idle connections',
    bounds: 'Time between the end of a reply and the next request',
    value: `${formatSeconds(limits.keepAliveMsMax)}; 10 s with uWebSockets.js`,
    effect: 'the connection is closed',
    enforcedIn: 'http/server-node.ts keepAliveMsMax',
  },
  {
    limit: 'Pipelined requests',
    bounds: 'Concurrent requests of one connection',
    value: `${formatNumber(limits.pipelinedRequestsMax)}; 1 with uWebSockets.js`,
    effect: 'the connection is closed',
    enforcedIn: 'http/server-node.ts pipelinedRequestsMax',
  },
  {
    limit: 'Idle time of a reply',
    bounds: 'Time in which the client reads nothing',
    value: formatSeconds(limits.replyIdleMsMax),
    effect: 'the connection is closed',
    enforcedIn: 'http/server-node.ts replyIdleMsMax',
  },
  {
    limit: 'Duration of an upload',
    bounds: 'Time of the whole body',
    value: formatSeconds(limits.uploadMsMax),
    effect: 'status 408',
    enforcedIn: 'http/pipeline/upload-route-handler.ts uploadMsMax',
  },
  {
    limit: 'Replaced TLS certificates',
    bounds: 'Certificates that connections still use after a renewal, with uWebSockets.js',
    value: formatNumber(limits.replacedCertificatesMax),
    effect: 'the connections of the oldest one are closed',
    enforcedIn: 'http/uws-tls-apps.ts replacedCertificatesMax',
  },
];

const backgroundRows: readonly EffectRow[] = [
  {
    limit: 'Changes kept',
    bounds: 'Changes in the feed of an organization, and their age',
    value: `${formatNumber(changeLimits.retainedMax)} and ${changeLimits.retentionMs / 86_400_000} days`,
    effect: 'the oldest are deleted; older cursors get status 410',
    enforcedIn: 'storage/change-feeds.ts retainedMax',
  },
  {
    limit: 'Unused change feed',
    bounds: 'Time since the last call for changes of an organization',
    value: `${changeLimits.idleMs / 86_400_000} days`,
    effect: 'the feed is closed, and its changes are deleted',
    enforcedIn: 'storage/change-feeds.ts idleMs',
  },
  {
    limit: 'Calls that wait for changes',
    bounds: 'Concurrent calls with `wait_seconds`, with a fair share per organization',
    value: formatNumber(changeLimits.waitsRunningMax),
    effect: 'further calls do not wait',
    enforcedIn: 'app/changes.ts waitsRunningMax',
  },
  {
    limit: 'Duration of an event stream',
    bounds: 'Time from the request to the end of the stream',
    value: formatSeconds(changeLimits.streamMsMax),
    effect: 'the stream ends; clients reconnect',
    enforcedIn: 'services/changes.ts streamMsMax',
  },
  {
    limit: 'Writes of the store',
    bounds: `Bytes of writes that wait for the disk; an eighth more for organizations with few waiting bytes`,
    value: formatNumber(limits.storePendingBytesMax),
    effect: 'status 429 for further writes',
    enforcedIn: 'storage/group-commit.ts pendingBytesMax',
  },
  {
    limit: 'Sign-in emails to an address',
    bounds: `Emails in a burst, then one per ${formatSeconds(limits.signInMailRefillMs)}; one per client and minute`,
    value: formatNumber(limits.signInMailBurstMax),
    effect: 'no further emails; earlier links stay valid',
    enforcedIn: 'accounts/sign-in-mail-limiter.ts signInMailBurstMax',
  },
  {
    limit: 'Emails being sent',
    bounds: 'Concurrent emails in total, and per organization or domain of the recipient',
    value: `${formatNumber(limits.mailsRunningMax)} and ${formatNumber(limits.mailsRunningPerKeyMax)}`,
    effect: 'further emails wait',
    enforcedIn: 'accounts/mailer.ts mailsRunningPerKeyMax',
  },
  {
    limit: 'Sessions of a user',
    bounds: 'Sessions that have not ended',
    value: formatNumber(limits.sessionsPerUserMax),
    effect: 'the least recently used session ends',
    enforcedIn: 'accounts/sessions.ts sessionsPerUserMax',
  },
  {
    limit: 'Denied attempts in the audit log',
    bounds: 'Distinct entries per organization, operation and minute',
    value: formatNumber(limits.deniedAuditEntriesPerMinuteMax),
    effect: 'counted in the log, without an entry',
    enforcedIn: 'audit/denied-access-log.ts deniedAuditEntriesPerMinuteMax',
  },
  {
    limit: 'Traces requested by callers',
    bounds: 'Requests per second that a `traceparent` header asks to record',
    value: formatNumber(limits.tracesRequestedPerSecondMax),
    effect: 'the request is not recorded',
    enforcedIn: 'tracing/tracer.ts tracesRequestedPerSecondMax',
  },
  {
    limit: 'Spans of a trace',
    bounds: 'Spans, including the root',
    value: formatNumber(limits.spansPerTraceMax),
    effect: 'further spans are dropped and counted in `quarry_trace_spans_dropped_total`',
    enforcedIn: 'tracing/tracer.ts spansPerTraceMax',
  },
  {
    limit: 'Spans waiting for export',
    bounds: `Spans; one request to the collector has at most ${limits.spansPerExportMax} and takes at most ${formatSeconds(limits.spanExportMsMax)}`,
    value: formatNumber(limits.spansQueuedMax),
    effect: 'dropped and counted in `quarry_trace_spans_dropped_total`',
    enforcedIn: 'tracing/span-exporter.ts spansQueuedMax',
  },
  {
    limit: 'Slow-query log',
    bounds: 'Lines per second',
    value: formatNumber(limits.slowQueryLinesPerSecondMax),
    effect: 'the next line has the number of suppressed ones',
    enforcedIn: 'services/slow-query-log.ts slowQueryLinesPerSecondMax',
  },
];

export const connectionLimitTable: readonly EffectRow[] = [...connectionRows, ...backgroundRows];

/** Renders the sections of `docs/reference/limits.md` about connections and background work. */
export function renderConnectionLimits(): string {
  return `
## Connections

${renderEffectTable(connectionRows)}
## Background work

${renderEffectTable(backgroundRows)}`;
}

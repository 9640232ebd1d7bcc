import { limits } from '../core/limits.ts';
import { renderConnectionLimits } from './connection-limit-table.ts';
import { formatNumber } from './limit-row.ts';
import { limitSections } from './limit-table.ts';
import { renderParseLimits } from './parse-limit-table.ts';
import { renderQueryLimits } from './query-limit-table.ts';
import { renderSourceLimits } from './source-limit-table.ts';
import { renderWebhookLimits } from './webhook-limit-table.ts';

/** Renders the page `docs/reference/limits.md`. */
export function renderLimitsPage(): string {
  const head = `# Limits

Generated from \`src/admission/limits-page.ts\`. Do not edit it by hand.

A rejected request gets the status of its row and an error message that names the limit.
The column "header" is the value of the reply header \`x-quarry-limit\`.
Replies with status 429 and 503 have the headers \`retry-after\` and \`retry-after-ms\`,
or \`x-should-retry: false\` when waiting does not help.

\`<TIER>\` is \`FREE\`, \`STARTER\` or \`TEAMS\`.
Where a setting allows 0, it removes the limit; the tier \`enterprise\` and the first organization have none.
An organization on the tier \`free\` stores at most 10,000 documents and 1,000,000,000 bytes by default.

At most ${formatNumber(limits.waitsRunningMax)} requests with \`wait: true\` wait at the same time.
Above that, each organization has a fair share,
and a request beyond the share returns at once with the current status of its document.
`;
  const parts = limitSections.map(([title, rows]) => {
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
  const effects = [
    renderConnectionLimits(),
    renderParseLimits(),
    renderSourceLimits(),
    renderWebhookLimits(),
    renderQueryLimits(),
  ];
  return [head, ...parts, ...effects].join('');
}

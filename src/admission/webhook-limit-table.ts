import { webhookLimits } from '../core/webhook-limits.ts';
import {
  type EffectRow,
  formatNumber,
  formatSeconds,
  type LimitRow,
  renderEffectTable,
} from './limit-row.ts';

/** Limits of webhooks that reject a request. */
export const webhookRows: readonly LimitRow[] = [
  {
    limit: 'Webhooks',
    bounds: 'Webhooks of an organization',
    value: formatNumber(webhookLimits.perOrganizationMax),
    enforcedIn: 'webhooks/webhook-services.ts perOrganizationMax',
    status: 429,
    header: 'webhooks',
    share: 'own allowance',
  },
  {
    limit: 'Fields of a webhook',
    bounds: 'Characters of the URL and of the description; types and collection names',
    value: [webhookLimits.urlUnitsMax, webhookLimits.descriptionUnitsMax, webhookLimits.filterEntriesMax]
      .map(formatNumber)
      .join(', '),
    enforcedIn: 'schemas/webhook-checks.ts urlUnitsMax',
    status: 400,
    header: null,
    share: 'per request',
  },
  {
    limit: 'Webhook messages waiting',
    bounds: 'Deliveries and test messages of an organization that wait to be sent',
    value: formatNumber(webhookLimits.waitingMax),
    enforcedIn: 'app/webhooks.ts waitingMax',
    status: 429,
    header: 'waiting-webhook-messages',
    share: 'own queue; round robin between organizations',
  },
];

/** Limits of webhooks that delay or disable a webhook. */
const webhookEffectRows: readonly EffectRow[] = [
  {
    limit: 'Webhook messages in progress',
    bounds: 'All messages; a webhook has at most one delivery in progress',
    value: formatNumber(webhookLimits.runningMax),
    effect: 'others wait, round robin between organizations',
    enforcedIn: 'app/webhooks.ts runningMax',
  },
  {
    limit: 'Reply of a receiver',
    bounds: 'Time and bytes',
    value: `${formatSeconds(webhookLimits.requestMsMax)}, ${formatNumber(webhookLimits.replyBytesMax)}`,
    effect: 'a later reply is a failure; further bytes are not read',
    enforcedIn: 'webhooks/delivery-sender.ts requestMsMax',
  },
  {
    limit: 'Retries',
    bounds: 'Time between attempts, doubled after each failure; time until the webhook is disabled',
    value: `${formatSeconds(webhookLimits.retryMsMin)} to ${formatSeconds(webhookLimits.retryMsMax)}; ${formatSeconds(webhookLimits.failingMsMax)}`,
    effect: 'the webhook gets the status `failed`',
    enforcedIn: 'webhooks/webhook-dispatcher.ts failingMsMax',
  },
  {
    limit: 'List of deliveries',
    bounds: 'Attempts kept of each webhook',
    value: formatNumber(webhookLimits.deliveriesKept),
    effect: 'the oldest is deleted',
    enforcedIn: 'storage/webhooks.ts deliveriesKept',
  },
];

export function renderWebhookLimits(): string {
  return `\n## Deliveries of webhooks\n\nThese limits reject no request.\n\n${renderEffectTable(webhookEffectRows)}`;
}

import { AppError, invalidFieldError } from '../core/app-error.ts';
import { uuidPattern } from '../core/ids.ts';
import { webhookLimits } from '../core/webhook-limits.ts';
import { checkCollectionName } from './checks.ts';
import type { AddWebhookRequest, WebhookRequest } from './webhooks.ts';

/** Rules for webhooks whose violation is a 400 or 422. */

/** Errors: 422. */
export function checkWebhookId({ webhook_id: id }: WebhookRequest): void {
  if (!uuidPattern.test(id)) throw invalidFieldError(['body', 'webhook_id'], 'is not a UUID');
}

/** Errors: 400. */
export function checkWebhookFields(request: Partial<AddWebhookRequest>): void {
  const { url = '', description = '', types, collection_names: names } = request;
  checkLength('url', url, webhookLimits.urlUnitsMax);
  checkLength('description', description, webhookLimits.descriptionUnitsMax);
  if (types != null) checkCount('types', types.length);
  if (names == null) return;
  checkCount('collection_names', names.length);
  for (const name of names) checkCollectionName(name);
}

function checkCount(field: string, count: number): void {
  const { filterEntriesMax } = webhookLimits;
  if (count === 0 || count > filterEntriesMax)
    throw new AppError(
      'bad_request',
      `${field} has ${count} entries; it must have 1 to ${filterEntriesMax}.`,
    );
}

function checkLength(field: string, text: string, unitsMax: number): void {
  if (text.length > unitsMax)
    throw new AppError(
      'bad_request',
      `${field} has ${text.length} characters; at most ${unitsMax} are allowed.`,
    );
}

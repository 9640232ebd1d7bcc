import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { AgreementLifecycle } from './agreement-lifecycle.ts';
import type { Agreements } from './agreements.ts';
import { parseAwsMessage } from './aws-messages.ts';
import { type ConfiguredMarketplaces, notConfiguredError } from './configured-marketplaces.ts';

export interface MarketplaceMessagesOptions extends ConfiguredMarketplaces {
  readonly agreements: Agreements;
  readonly lifecycle: AgreementLifecycle;
  /** Errors: 429 for too many messages from an address, whether or not they come from a marketplace. */
  readonly checkMessageRate: (address: string) => void;
}

const removalEvents: ReadonlySet<string> = new Set([
  'integration-configuration.removed',
  'integration-configuration-removed',
]);

const permissionEvents: ReadonlySet<string> = new Set([
  'integration-configuration.permission-upgraded',
  'integration-configuration.scope-change-confirmed',
]);

/** Messages that marketplaces send about agreements. */
export class MarketplaceMessages {
  readonly #options: MarketplaceMessagesOptions;

  constructor(options: MarketplaceMessagesOptions) {
    this.#options = options;
  }

  /**
   * Handles an SNS message about agreements. It is only a hint: entitlements are read from AWS. Errors: 400
   * for a message not sent by SNS to this server; 429; 502; 503.
   */
  async handleAws(text: string, address: string): Promise<void> {
    const { aws, lifecycle, checkMessageRate } = this.#options;
    const receiver = aws?.snsReceiver ?? null;
    if (receiver === null)
      throw notConfiguredError('The webhook for AWS Marketplace messages', 'QUARRY_AWS_TOPIC_ARNS');
    checkMessageRate(address);
    const notification = await receiver.receive(text);
    if (notification === null) return;
    const message = parseAwsMessage(notification);
    const matching = (await lifecycle.listAws()).filter(({ offer }) => message.matchOffer(offer) !== null);
    const active = matching.filter(({ endedAt }) => endedAt === null);
    for (const agreement of matching) {
      // If a customer has several agreements, the message does not show which has ended, so AWS is queried.
      const isCertain = message.matchOffer(agreement.offer) === 'certain' || active.length === 1;
      if (isCertain && message.kind === 'ending') await lifecycle.closeFinalHours(agreement);
      if (isCertain && message.kind === 'ended') await lifecycle.end(agreement);
      else await lifecycle.refresh(agreement);
    }
  }

  /**
   * Handles a webhook of Vercel. Errors: 400 for an invalid signature; 429; 503 if Vercel is not configured.
   */
  async handleVercel(body: Uint8Array, signature: string, address: string): Promise<void> {
    const { vercel, checkMessageRate, agreements, lifecycle } = this.#options;
    if (vercel === null) throw notConfiguredError('Vercel', 'QUARRY_VERCEL_CLIENT_ID');
    checkMessageRate(address);
    if (!vercel.api.isSignatureValid(body, signature)) {
      throw new AppError('bad_request', 'x-vercel-signature does not match the body.');
    }
    const { type, installationId } = parseWebhook(Buffer.from(body).toString('utf8'));
    if (installationId === null) return;
    const agreement = agreements.records.findAgreement('vercel', installationId);
    if (agreement === undefined || agreement.endedAt !== null) return;
    if (removalEvents.has(type)) await lifecycle.end(agreement);
    // The integration may now have access to more projects and permissions.
    if (permissionEvents.has(type) && agreement.variables !== undefined)
      await lifecycle.setVariables(agreement);
  }
}

/** Returns the type of a webhook and the id of its installation; null for none. */
function parseWebhook(body: string): { readonly type: string; readonly installationId: string | null } {
  let webhook: { type?: unknown; payload?: { configuration?: { id?: unknown } } };
  try {
    webhook = Object(JSON.parse(body));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not JSON.', { cause });
  }
  const id = webhook.payload?.configuration?.id;
  const isId = typeof id === 'string' && id.length <= limits.marketplaceTextUnitsMax;
  return { type: String(webhook.type), installationId: isId ? id : null };
}

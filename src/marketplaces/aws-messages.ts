import type { AwsOffer } from '../storage/marketplaces.ts';

/** What happens to an agreement: `changed` for everything that only AWS can tell the end of. */
export type AwsEventKind = 'changed' | 'ending' | 'ended';

/** What a message of AWS Marketplace says, in either of its two forms. */
export interface AwsMessage {
  readonly kind: AwsEventKind;
  /**
   * Whether it is about an agreement: `certain` where it names the license, `likely` where it names no license but the
   * customer, who may have several; null where it is about another.
   */
  readonly matchOffer: (offer: AwsOffer) => 'certain' | 'likely' | null;
}

/**
 * Reads a message: those of SNS topics of products (`action`, `customer-identifier`, `product-code`) and the events that
 * EventBridge hands on (`detail-type`, and in `detail` license, product and acceptor). The seller guide shows the ARN of a
 * license in another form than ResolveCustomer gives it, so what counts is the id that both end with.
 */
export function parseAwsMessage(text: string): AwsMessage {
  const message = parseObject(text);
  const detail = asObject(message.detail);
  const license = asObject(detail.license).arn ?? message['license-arn'];
  const product = asObject(detail.product).code ?? message['product-code'];
  const account = asObject(detail.acceptor).accountId;
  const customer = message['customer-identifier'];
  return {
    kind: eventKindOf(message),
    matchOffer: ({ licenseArn, productCode, accountId, customerId }) => {
      if (containsId(text, licenseArn.slice(licenseArn.lastIndexOf(':') + 1))) return 'certain';
      if (license !== undefined) return null;
      if (product !== undefined && product !== productCode) return null;
      const isTheirs = account === accountId || (customerId !== null && customer === customerId);
      return isTheirs ? 'likely' : null;
    },
  };
}

function eventKindOf(message: Readonly<Record<string, unknown>>): AwsEventKind {
  if (message.action === 'unsubscribe-pending') return 'ending';
  if (message.action === 'unsubscribe-success') return 'ended';
  return String(message['detail-type'] ?? '').startsWith('License Deprovisioned') ? 'ended' : 'changed';
}

/** Whether a text names an id, and not only one that begins or ends so. */
function containsId(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    const neighbors = `${text.charAt(at - 1)}${text.charAt(at + id.length)}`;
    if (!/[A-Za-z0-9-]/.test(neighbors)) return true;
  }
  return false;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {}; // Text for people: it says nothing that a program could do.
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

import type { AwsOffer } from '../storage/marketplaces.ts';

/** Kind of an event. `changed` covers everything whose result must be read from AWS. */
export type AwsEventKind = 'changed' | 'ending' | 'ended';

/** Content of a message of AWS Marketplace, in either of its two formats. */
export interface AwsMessage {
  readonly kind: AwsEventKind;
  /**
   * Whether the message concerns an agreement: `certain` if it names the license; `likely` if it names only
   * the customer, who may have several; null if it concerns another.
   */
  readonly matchOffer: (offer: AwsOffer) => 'certain' | 'likely' | null;
}

/**
 * Parses a message: those of the SNS topics of products (`action`, `customer-identifier`, `product-code`) and
 * the events forwarded by EventBridge (`detail-type`, and license, product and acceptor in `detail`). The
 * seller guide shows license ARNs in another format than ResolveCustomer returns, so only the id at the end
 * of both is compared.
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
      const isSameCustomer = account === accountId || (customerId !== null && customer === customerId);
      return isSameCustomer ? 'likely' : null;
    },
  };
}

function eventKindOf(message: Readonly<Record<string, unknown>>): AwsEventKind {
  if (message.action === 'unsubscribe-pending') return 'ending';
  if (message.action === 'unsubscribe-success') return 'ended';
  return String(message['detail-type'] ?? '').startsWith('License Deprovisioned') ? 'ended' : 'changed';
}

/** Whether a text contains an id as a whole word. */
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
    return {}; // Plain text for people without machine-readable content.
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

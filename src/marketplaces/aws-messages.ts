import type { AwsOffer } from '../store/marketplaces.ts';

/** What happens to an agreement: `changed` for everything that only AWS can tell the end of. */
export type AwsHappening = 'changed' | 'ending' | 'ended';

/** What a message of AWS Marketplace says, in either of its two forms. */
export interface AwsMessage {
  readonly happening: AwsHappening;
  /**
   * Whether it is about an agreement: `certain` where it names the license, `likely` where it names no license but the
   * customer, who may have several; null where it is about another.
   */
  readonly about: (offer: AwsOffer) => 'certain' | 'likely' | null;
}

/**
 * Reads a message: those of SNS topics of products (`action`, `customer-identifier`, `product-code`) and the events that
 * EventBridge hands on (`detail-type`, and in `detail` license, product and acceptor). The seller guide shows the ARN of a
 * license in another form than ResolveCustomer gives it, so what counts is the id that both end with.
 */
export function readAwsMessage(text: string): AwsMessage {
  const said = parsed(text);
  const detail = fieldsOf(said.detail);
  const license = fieldsOf(detail.license).arn ?? said['license-arn'];
  const product = fieldsOf(detail.product).code ?? said['product-code'];
  const account = fieldsOf(detail.acceptor).accountId;
  const customer = said['customer-identifier'];
  return {
    happening: happeningOf(said),
    about: ({ licenseArn, productCode, accountId, customerId }) => {
      if (mentions(text, licenseArn.slice(licenseArn.lastIndexOf(':') + 1))) return 'certain';
      if (license !== undefined) return null;
      if (product !== undefined && product !== productCode) return null;
      const isTheirs = account === accountId || (customerId !== null && customer === customerId);
      return isTheirs ? 'likely' : null;
    },
  };
}

function happeningOf(said: Readonly<Record<string, unknown>>): AwsHappening {
  if (said.action === 'unsubscribe-pending') return 'ending';
  if (said.action === 'unsubscribe-success') return 'ended';
  return String(said['detail-type'] ?? '').startsWith('License Deprovisioned') ? 'ended' : 'changed';
}

/** Whether a text names an id, and not only one that begins or ends so. */
function mentions(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    const around = `${text.charAt(at - 1)}${text.charAt(at + id.length)}`;
    if (!/[A-Za-z0-9-]/.test(around)) return true;
  }
  return false;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {}; // Text for people: it says nothing that a program could do.
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

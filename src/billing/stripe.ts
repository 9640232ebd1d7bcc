import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import { type Egress, egressRefusalIn, refusedByEgress } from '../egress/egress.ts';

/** The one file that loads Stripe, and only when a key is configured. */

export interface StripeSettings {
  readonly secretKey: string;
  /** `https://api.stripe.com`, or an emulator. */
  readonly apiBase: string;
  /** Of one attempt of one call. */
  readonly msMax: number;
  readonly egress: Pick<Egress, 'agents'>;
}

export async function openStripe({ secretKey, apiBase, msMax, egress }: StripeSettings): Promise<Stripe> {
  const { default: Loaded } = await import('stripe');
  const { protocol, hostname, port } = new URL(apiBase);
  const { httpAgent, httpsAgent } = egress.agents();
  return new Loaded(secretKey, {
    maxNetworkRetries: 1,
    timeout: msMax,
    telemetry: false,
    httpAgent: protocol === 'https:' ? httpsAgent : httpAgent,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    protocol: protocol === 'https:' ? 'https' : 'http',
  });
}

/** Stripe said no, for a reason that the caller of this server can do something about, or ours to know. */
export class StripeRefusal extends AppError {
  /** `card_declined`, `resource_missing`, ...; empty when it named none. */
  readonly stripeCode: string;
  /** Why a bank declined; empty when it did not say. */
  readonly declineCode: string;
  /** What it said, for people. */
  readonly sentence: string;
  readonly isCard: boolean;

  constructor(error: StripeTrouble) {
    const isCard = error.type === 'StripeCardError' || error.statusCode === 402;
    const sentence = error.message ?? 'Stripe gave no reason';
    super(
      isCard ? 'payment_declined' : 'bad_gateway',
      isCard ? sentence : 'The payment provider refused the change; nothing was charged.',
      { cause: error, shouldRetry: false, privateDetails: detailsOf(error) },
    );
    this.stripeCode = error.code ?? '';
    this.declineCode = error.decline_code ?? '';
    this.sentence = sentence;
    this.isCard = isCard;
  }
}

/** Nobody knows whether Stripe did it: it did not answer, or broke in the middle. */
export class StripeSilence extends AppError {
  /** True when it answered, so that the same idempotency key would give the same failure again. */
  readonly answered: boolean;

  constructor(error: StripeTrouble) {
    const answered = (error.statusCode ?? 0) >= 500;
    super(
      answered ? 'bad_gateway' : 'unavailable',
      answered
        ? 'The payment provider failed; try again shortly. Nothing is charged twice.'
        : 'The payment provider does not answer; try again shortly. Nothing is charged twice.',
      { cause: error, retryAfterMs: 5_000, mayRepeat: true, privateDetails: detailsOf(error) },
    );
    this.answered = answered;
  }
}

/** Whether Stripe has nothing of the id that it was asked about. */
export function isMissing(error: unknown): boolean {
  return error instanceof StripeRefusal && error.stripeCode === 'resource_missing';
}

/** What the errors of the SDK have in common. */
interface StripeTrouble extends Error {
  readonly type?: string;
  readonly code?: string;
  readonly decline_code?: string;
  readonly statusCode?: number;
  readonly requestId?: string;
}

/** A failure of a call as ours; what did not come from Stripe stays what it is. */
export function troubleOf(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const refused = egressRefusalIn(error);
  if (refused !== null) return refusedByEgress('the payment provider', refused);
  const trouble = error as StripeTrouble;
  if (typeof trouble.type !== 'string' || !trouble.type.startsWith('Stripe')) return error;
  const { statusCode = 0, code } = trouble;
  const isBusy = statusCode === 429 || code === 'idempotency_key_in_use' || code === 'lock_timeout';
  const isAnswered = statusCode >= 400 && statusCode < 500 && !isBusy;
  return isAnswered ? new StripeRefusal(trouble) : new StripeSilence(trouble);
}

/** Runs a call that changes nothing. */
export async function asking<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw troubleOf(error);
  }
}

function detailsOf({ type, code, statusCode, requestId }: StripeTrouble): Readonly<Record<string, unknown>> {
  return { stripe: { type, code, statusCode, requestId } };
}

import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import { type Egress, findEgressDenial, refusedByEgress } from '../egress/egress.ts';

/** The one file that loads Stripe, and only when a key is configured. */

export interface StripeSettings {
  readonly secretKey: string;
  /** `https://api.stripe.com`, or an emulator. */
  readonly apiBase: string;
  /** Of one attempt of one call. */
  readonly msMax: number;
  readonly egress: Pick<Egress, 'agents'>;
}

export async function createStripeClient({
  secretKey,
  apiBase,
  msMax,
  egress,
}: StripeSettings): Promise<Stripe> {
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
export class StripeRejectedError extends AppError {
  /** `card_declined`, `resource_missing`, ...; empty when it named none. */
  readonly stripeCode: string;
  /** Why a bank declined; empty when it did not say. */
  readonly declineCode: string;
  /** What it said, for people. */
  readonly stripeMessage: string;
  readonly isCardError: boolean;

  constructor(error: StripeErrorFields) {
    const isCardError = error.type === 'StripeCardError' || error.statusCode === 402;
    const stripeMessage = error.message ?? 'Stripe gave no reason';
    super(
      isCardError ? 'payment_declined' : 'bad_gateway',
      isCardError ? stripeMessage : 'The payment provider refused the change; nothing was charged.',
      { cause: error, shouldRetry: false, privateDetails: privateDetailsOf(error) },
    );
    this.stripeCode = error.code ?? '';
    this.declineCode = error.decline_code ?? '';
    this.stripeMessage = stripeMessage;
    this.isCardError = isCardError;
  }
}

/** Nobody knows whether Stripe did it: it did not answer, or broke in the middle. */
export class UnknownOutcomeError extends AppError {
  /** True when it answered, so that the same idempotency key would give the same failure again. */
  readonly hasReplied: boolean;

  constructor(error: StripeErrorFields) {
    const hasReplied = (error.statusCode ?? 0) >= 500;
    super(
      hasReplied ? 'bad_gateway' : 'unavailable',
      hasReplied
        ? 'The payment provider failed; try again shortly. Nothing is charged twice.'
        : 'The payment provider does not answer; try again shortly. Nothing is charged twice.',
      { cause: error, retryAfterMs: 5_000, isRepeatable: true, privateDetails: privateDetailsOf(error) },
    );
    this.hasReplied = hasReplied;
  }
}

/** Whether Stripe has nothing of the id that it was asked about. */
export function isResourceMissing(error: unknown): boolean {
  return error instanceof StripeRejectedError && error.stripeCode === 'resource_missing';
}

/** What the errors of the SDK have in common. */
interface StripeErrorFields extends Error {
  readonly type?: string;
  readonly code?: string;
  readonly decline_code?: string;
  readonly statusCode?: number;
  readonly requestId?: string;
}

/** A failure of a call as ours; what did not come from Stripe stays what it is. */
export function toStripeError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const egressRefusal = findEgressDenial(error);
  if (egressRefusal !== null) return refusedByEgress('the payment provider', egressRefusal);
  const stripeError = error as StripeErrorFields;
  if (typeof stripeError.type !== 'string' || !stripeError.type.startsWith('Stripe')) return error;
  const { statusCode = 0, code } = stripeError;
  const isBusy = statusCode === 429 || code === 'idempotency_key_in_use' || code === 'lock_timeout';
  const isRejected = statusCode >= 400 && statusCode < 500 && !isBusy;
  return isRejected ? new StripeRejectedError(stripeError) : new UnknownOutcomeError(stripeError);
}

/** Runs a call that changes nothing. */
export async function mapStripeErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toStripeError(error);
  }
}

function privateDetailsOf({
  type,
  code,
  statusCode,
  requestId,
}: StripeErrorFields): Readonly<Record<string, unknown>> {
  return { stripe: { type, code, statusCode, requestId } };
}

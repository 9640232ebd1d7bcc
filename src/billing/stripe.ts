import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import { type Egress, egressDeniedError, findEgressDenial } from '../egress/egress.ts';

/** The only module that loads the Stripe SDK, and only if a key is configured. */

export interface StripeSettings {
  readonly secretKey: string;
  /** `https://api.stripe.com`, or an emulator. */
  readonly apiBase: string;
  /** Timeout in milliseconds of one attempt of one call. */
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

/** Stripe rejected the call, for a reason that the client or the operator of this server can resolve. */
export class StripeRejectedError extends AppError {
  /** `card_declined`, `resource_missing`, ...; empty if Stripe gave none. */
  readonly stripeCode: string;
  /** Reason of a decline by a bank; empty if the bank gave none. */
  readonly declineCode: string;
  /** Message of Stripe, for people. */
  readonly stripeMessage: string;
  readonly isCardError: boolean;

  constructor(error: StripeErrorFields) {
    const isCardError = error.type === 'StripeCardError' || error.statusCode === 402;
    const stripeMessage = error.message ?? 'Stripe returned no reason';
    super(
      isCardError ? 'payment_declined' : 'bad_gateway',
      isCardError ? stripeMessage : 'The payment provider rejected the change. Nothing was charged.',
      { cause: error, shouldRetry: false, privateDetails: privateDetailsOf(error) },
    );
    this.stripeCode = error.code ?? '';
    this.declineCode = error.decline_code ?? '';
    this.stripeMessage = stripeMessage;
    this.isCardError = isCardError;
  }
}

/** The outcome of a call is unknown: Stripe did not answer, or failed during the call. */
export class UnknownOutcomeError extends AppError {
  /** True if Stripe replied, so that the same idempotency key would return the same failure again. */
  readonly hasReplied: boolean;

  constructor(error: StripeErrorFields) {
    const hasReplied = (error.statusCode ?? 0) >= 500;
    super(
      hasReplied ? 'bad_gateway' : 'unavailable',
      hasReplied
        ? 'The payment provider failed. Try again shortly. Nothing is charged twice.'
        : 'The payment provider did not respond. Try again shortly. Nothing is charged twice.',
      { cause: error, retryAfterMs: 5_000, isRepeatable: true, privateDetails: privateDetailsOf(error) },
    );
    this.hasReplied = hasReplied;
  }
}

/** Whether Stripe has no resource with the requested id. */
export function isResourceMissing(error: unknown): boolean {
  return error instanceof StripeRejectedError && error.stripeCode === 'resource_missing';
}

/** Fields shared by the errors of the SDK. */
interface StripeErrorFields extends Error {
  readonly type?: string;
  readonly code?: string;
  readonly decline_code?: string;
  readonly statusCode?: number;
  readonly requestId?: string;
}

/** Converts an error of the SDK to an `AppError`. Returns errors that did not come from Stripe unchanged. */
export function toStripeError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const egressDenial = findEgressDenial(error);
  if (egressDenial !== null) return egressDeniedError('the payment provider', egressDenial);
  const stripeError = error as StripeErrorFields;
  if (typeof stripeError.type !== 'string' || !stripeError.type.startsWith('Stripe')) return error;
  const { statusCode = 0, code } = stripeError;
  const isBusy = statusCode === 429 || code === 'idempotency_key_in_use' || code === 'lock_timeout';
  const isRejected = statusCode >= 400 && statusCode < 500 && !isBusy;
  return isRejected ? new StripeRejectedError(stripeError) : new UnknownOutcomeError(stripeError);
}

/** Runs a call that only reads, and maps its errors. */
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

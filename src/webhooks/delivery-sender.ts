import { AppError } from '../core/app-error.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { withTimeout } from '../core/async/with-timeout.ts';
import type { Clock } from '../core/clock.ts';
import type { Sealer } from '../core/sealer.ts';
import { webhookLimits } from '../core/webhook-limits.ts';
import type { PinnedConnections } from '../egress/pinned-connections.ts';
import type { Webhook } from '../storage/webhooks.ts';
import { signMessage } from './signature.ts';

export interface DeliverySenderOptions {
  readonly connections: Pick<PinnedConnections, 'checkUrl' | 'post'>;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** Shared fairly between organizations. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  readonly version: string;
}

export type SendFailure = 'denied' | 'timeout' | 'connection' | 'status' | 'secret';

export interface SendOutcome {
  /** Null: the receiver accepted the message. */
  readonly failure: SendFailure | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly milliseconds: number;
}

export interface EventMessage {
  readonly id: string;
  readonly type: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly data: unknown;
}

/** Sends signed messages to the URLs of webhooks. */
export class DeliverySender {
  readonly #options: DeliverySenderOptions;

  constructor(options: DeliverySenderOptions) {
    this.#options = options;
  }

  /** Never rejects because of the receiver. Rejects when the call is canceled. */
  async send(
    webhook: Webhook,
    { id, ...event }: EventMessage,
    cancellation: CancellationToken,
  ): Promise<SendOutcome> {
    const { semaphore, clock } = this.#options;
    const secrets = this.#openSecrets(webhook);
    if (secrets.length === 0)
      return failed(
        'secret',
        'The secret cannot be decrypted. Create a new one with rotate-webhook-secret.',
        { milliseconds: 0 },
      );
    const body = JSON.stringify(event);
    const pause = semaphore.acquire(webhook.organizationId, cancellation);
    if (pause !== null) await pause;
    const startedAt = clock.monotonic();
    const timestamp = Math.floor(clock.now() / 1_000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': `quarry/${this.#options.version}`,
      ...signMessage({ id, timestamp, body }, secrets),
    };
    const milliseconds = () => Math.round(clock.monotonic() - startedAt);
    try {
      const status = await this.#post(webhook.url, headers, { body: Buffer.from(body), cancellation });
      if (status >= 200 && status <= 299)
        return { failure: null, status, error: null, milliseconds: milliseconds() };
      const hint = status >= 300 && status <= 399 ? ' Redirects are not followed.' : '';
      const error = `The receiver replied with status ${status}.${hint}`;
      return failed('status', error, { status, milliseconds: milliseconds() });
    } catch (error) {
      if (cancellation.isCanceled) throw error;
      return failed(failureOf(error), describeFailure(error), { milliseconds: milliseconds() });
    } finally {
      semaphore.release();
    }
  }

  /** Returns the status of the reply. */
  #post(
    text: string,
    headers: Readonly<Record<string, string>>,
    { body, cancellation }: { readonly body: Uint8Array; readonly cancellation: CancellationToken },
  ): Promise<number> {
    const { connections } = this.#options;
    const { requestMsMax: msMax, replyBytesMax } = webhookLimits;
    // The settings may have changed since the URL was set.
    const url = connections.checkUrl(text);
    return withTimeout({ signal: cancellation.signal, msMax }, async (signal) => {
      const reply = await connections.post(url, { headers, body, signal });
      let bytes = 0;
      for await (const piece of reply as AsyncIterable<Buffer>) {
        bytes += piece.byteLength;
        if (bytes > replyBytesMax) break;
      }
      return reply.statusCode ?? 0;
    });
  }

  #openSecrets({ webhookId, secrets }: Webhook): string[] {
    const now = this.#options.clock.now();
    return secrets.flatMap(({ sealed, expiresAt }) => {
      if (expiresAt !== null && expiresAt <= now) return [];
      return this.#options.sealer.open(sealed, webhookId) ?? [];
    });
  }
}

function failed(
  failure: SendFailure,
  error: string,
  { status = null, milliseconds }: { readonly status?: number | null; readonly milliseconds: number },
): SendOutcome {
  return { failure, status, error, milliseconds };
}

function failureOf(error: unknown): SendFailure {
  if (error instanceof AppError) return error.code === 'bad_gateway' ? 'connection' : 'denied';
  return error instanceof Error && 'code' in error ? 'connection' : 'timeout';
}

function describeFailure(error: unknown): string {
  if (error instanceof AppError) return error.message;
  return failureOf(error) === 'timeout'
    ? `The receiver did not reply within ${webhookLimits.requestMsMax / 1_000} seconds.`
    : 'The connection ended before the reply.';
}

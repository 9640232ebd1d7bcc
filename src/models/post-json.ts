import { type Egress, egressRefusalIn } from '../egress/egress.ts';

/** A reply of a provider that cannot be used, or none. */
export class ProviderTrouble extends Error {
  override readonly name = 'ProviderTrouble';
  /**
   * refused: this very input; busy: too many requests; failed: perhaps it works next time; misconfigured: it will not
   * work until somebody changes something.
   */
  readonly kind: 'refused' | 'busy' | 'failed' | 'misconfigured';
  /** Milliseconds the provider asks to be left alone for. */
  readonly retryAfterMs: number | null;
  /** What the provider says about it, for the log. */
  readonly said: string;

  constructor(
    kind: ProviderTrouble['kind'],
    reason: string,
    {
      retryAfterMs = null,
      said = '',
      cause,
    }: Partial<Pick<ProviderTrouble, 'retryAfterMs' | 'said' | 'cause'>> = {},
  ) {
    super(reason, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
    this.said = said;
  }
}

export interface PostOptions {
  readonly key: string | null;
  /** Milliseconds for all of it, the reply read included. */
  readonly msMax: number;
  readonly replyBytesMax: number;
  /** Whether what the service says about an error may be passed on: it may quote what was sent. */
  readonly mayQuote: boolean;
  /** Milliseconds since the epoch, for a `retry-after` that is a date. */
  readonly now: () => number;
  readonly fetch: Egress['fetch'];
}

/** Characters of what is said that are passed on. */
const saidUnitsMax = 500;
/** Bytes of a reply with an error that are read. */
const errorBytesMax = 2_000;
/** Statuses that blame the input; every other one below 500 blames the configuration. */
const refusals: ReadonlySet<number> = new Set([400, 413, 422]);

/** Sends JSON and gives the parsed reply. Rejects with `ProviderTrouble` only. Redirections are not followed. */
export async function postJson(url: string, body: object, options: PostOptions): Promise<unknown> {
  const { key, msMax, replyBytesMax } = options;
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), msMax);
  try {
    const reply = await options.fetch(url, {
      method: 'POST',
      signal: controller.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw await refusal(reply, options);
    return parsed(await bounded(reply, replyBytesMax), options.mayQuote);
  } catch (error) {
    if (error instanceof ProviderTrouble) throw error;
    const refused = egressRefusalIn(error);
    if (refused !== null) throw new ProviderTrouble('misconfigured', refused.message, { cause: refused });
    const reason = controller.signal.aborted ? `no answer within ${Math.round(msMax)} ms` : 'no connection';
    throw new ProviderTrouble('failed', reason, { said: causes(error), cause: error });
  } finally {
    clearTimeout(timer);
    // Whatever of the reply was not read is not waited for.
    controller.abort();
  }
}

async function refusal(reply: Response, { key, now, mayQuote }: PostOptions): Promise<ProviderTrouble> {
  const { status } = reply;
  const text = await bounded(reply, errorBytesMax, true).catch(() => '');
  const said = sayable(key === null ? text : text.replaceAll(key, '***'), mayQuote);
  const retryAfterMs = retryAfter(reply.headers.get('retry-after'), now());
  const reason = `it answered ${status}`;
  if (status === 429) return new ProviderTrouble('busy', reason, { retryAfterMs, said });
  if (refusals.has(status)) return new ProviderTrouble('refused', reason, { said });
  if (status >= 500 || status === 408) return new ProviderTrouble('failed', reason, { retryAfterMs, said });
  return new ProviderTrouble('misconfigured', reason, { said });
}

/** What a service says, short enough for a log; where it may not be quoted, how long it was. */
function sayable(said: string, mayQuote: boolean): string {
  if (!mayQuote) return `withheld: ${said.length} characters`;
  return said.length > saidUnitsMax ? `${said.slice(0, saidUnitsMax)}...` : said;
}

/** Seconds or a date (RFC 9110), as milliseconds from now. */
function retryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

/** The text of a reply of at most so many bytes; `cuts`: the beginning of a longer one. */
async function bounded(reply: Response, bytesMax: number, cuts = false): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of reply.body ?? []) {
    bytes += part.length;
    parts.push(part);
    if (bytes <= bytesMax) continue;
    if (!cuts) throw new ProviderTrouble('failed', `its reply is longer than ${bytesMax} bytes`);
    break;
  }
  return Buffer.concat(parts).subarray(0, bytesMax).toString('utf8');
}

function parsed(text: string, mayQuote: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the cause, which quotes the reply.
    throw new ProviderTrouble('failed', 'its reply is not JSON', { said: sayable(text, mayQuote) });
  }
}

/** `fetch` says only that it failed; why is in the cause. */
function causes(error: unknown): string {
  const said: string[] = [];
  for (let cause = error; cause instanceof Error && said.length < 4; cause = cause.cause)
    said.push(cause.message);
  return said.join(': ');
}

import { sendOnOpenConnection } from '../support/stale-connections.ts';
import { checkPauseMs, testEventMsMax } from '../timeouts.ts';
import { checkReply, type PublishedOperationName, type ReplyOf } from './published-replies.ts';
import { operatorKey, type TestServer } from './server.ts';

/** Reply as received. `body` is the parsed JSON; null if there is none. */
export interface ApiReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface ApiSendOptions {
  readonly method?: string;
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | FormData | undefined;
  readonly signal?: AbortSignal;
}

export type DocumentContentInput =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'text-pages' | 'text-pages-unordered'; readonly pages: readonly string[] }
  | { readonly type: 'auto'; readonly base64_data: string };

export type DocumentMetadata = Readonly<
  Record<
    string,
    string | number | boolean | { readonly lat: number; readonly lon: number } | readonly string[]
  >
>;

type DocumentStatus = Pick<ReplyOf<'documents/add-document'>, 'index_status' | 'error' | 'error_code'>;

const finalStatuses: ReadonlySet<string | undefined> = new Set([
  'indexed',
  'parsing_failed',
  'indexing_failed',
]);

/** Checks the headers required on every reply. */
function checkHeaders(what: string, { status, headers }: ApiReply): void {
  const need = (name: string, value: RegExp) => {
    const found = headers.get(name) ?? '';
    if (!value.test(found)) throw new Error(`${what}: the header ${name} of a ${status} is "${found}"`);
  };
  need('x-request-id', /^[0-9a-f-]{36}$/);
  need('cache-control', /^no-store$/);
  need('content-type', /^application\/json/);
  if (status === 409) need('x-should-retry', /^false$/);
  if (status === 401) need('www-authenticate', /^Bearer/);
  if (status === 405) need('allow', /[A-Z]/);
  if ((status === 429 || status === 503) && headers.get('x-should-retry') !== 'false') {
    need('retry-after', /^([1-9]|[1-5]\d|60)$/);
    need('retry-after-ms', /^[1-9]\d*$/);
  }
}

/**
 * Client that validates every reply: published shape and required headers.
 */
export class CheckedApiClient {
  readonly #server: Pick<TestServer, 'url'>;
  readonly #key: string | null;
  readonly #prefix: '/v1' | '';

  constructor(server: Pick<TestServer, 'url'>, key: string | null = operatorKey, prefix: '/v1' | '' = '/v1') {
    this.#server = server;
    this.#key = key;
    this.#prefix = prefix;
  }

  /** Sends any request to a path below the prefix; validates JSON replies only. */
  async send(path: string, options: ApiSendOptions = {}): Promise<Response> {
    const key = options.key === undefined ? this.#key : options.key;
    const init: RequestInit = {
      method: options.method ?? 'POST',
      headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...options.headers },
      ...(options.body === undefined ? {} : { body: options.body as NonNullable<RequestInit['body']> }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    };
    return sendOnOpenConnection(() => fetch(`${this.#server.url}${this.#prefix}/${path}`, init));
  }

  /** Calls an operation and returns any reply. `as` names the shape if the path is not an operation. */
  async request(
    path: string,
    body?: unknown,
    options: ApiSendOptions & { as?: string } = {},
  ): Promise<ApiReply> {
    const isJson = body !== undefined;
    const response = await this.send(path, {
      ...options,
      headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...options.headers },
      body: isJson ? JSON.stringify(body) : options.body,
    });
    const text = await response.text();
    const reply = { status: response.status, headers: response.headers, body: parseJsonBody(path, text) };
    checkHeaders(path, reply);
    checkReply(options.as ?? path, reply.status, reply.body);
    return reply;
  }

  /** Returns the body of a success; any other reply fails the test with its text. */
  async call<O extends PublishedOperationName>(operation: O, body: unknown = {}): Promise<ReplyOf<O>> {
    const reply = await this.request(operation, body);
    if (reply.status > 299)
      throw new Error(`${operation} returned ${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body as ReplyOf<O>;
  }

  async status(path: string, body?: unknown): Promise<number> {
    return (await this.request(path, body)).status;
  }

  /** Adds a document and waits until it is indexed or has failed; with `wait: false` only until it is stored. */
  async add(
    collection: string,
    path: string,
    content: string | DocumentContentInput,
    extra: { metadata?: DocumentMetadata; overwrite?: boolean; wait?: boolean } = {},
  ): Promise<ReplyOf<'documents/add-document'>> {
    const added = await this.call('documents/add-document', {
      collection_name: collection,
      path,
      content: typeof content === 'string' ? { type: 'text', text: content } : content,
      wait: true,
      ...extra,
    });
    if (extra.wait === false) return added;
    return { ...added, ...(await this.#finalStatus(collection, path, added)) };
  }

  /**
   * Returns the status of an added document when it is indexed or has failed. A reply with `wait` comes after 50 s at the
   * latest, in which a loaded machine may not parse a document.
   */
  async #finalStatus(collection: string, path: string, added: DocumentStatus): Promise<DocumentStatus> {
    if (finalStatuses.has(added.index_status)) return added;
    return waitFor(`a final status of ${path}`, async () => {
      const { index_status, error, error_code } = await this.info(collection, path);
      return finalStatuses.has(index_status) ? { index_status, error, error_code } : null;
    });
  }

  /** Adds many documents at once, waits for all of them, and fails unless each is indexed. */
  async addAll(
    collection: string,
    documents: readonly { path: string; content: DocumentContentInput; metadata?: DocumentMetadata }[],
  ): Promise<void> {
    for (let i = 0; i < documents.length; i += 256) {
      const { results } = await this.call('documents/add-documents', {
        collection_name: collection,
        documents: documents.slice(i, i + 256),
        wait: true,
      });
      for (const result of results) {
        const { index_status } =
          result.status === 201 ? await this.#finalStatus(collection, result.path ?? '', result) : result;
        if (index_status !== 'indexed') throw new Error(`add-documents: ${JSON.stringify(result)}`);
      }
    }
  }

  async info(collection: string, path: string, includeContent = false) {
    const body = { collection_name: collection, path, include_content: includeContent };
    return (await this.call('documents/get-document-info', body)).document;
  }

  async paths(collection: string, extra: Readonly<Record<string, unknown>> = {}): Promise<string[]> {
    const { documents } = await this.call('documents/get-document-info-list', {
      collection_name: collection,
      ...extra,
    });
    return documents.map((document) => document.path);
  }

  /** Paths of the documents found by a query, best first. */
  async find(
    collection: string,
    query: string | null,
    extra: Readonly<Record<string, unknown>> = {},
  ): Promise<string[]> {
    const body = { collection_name: collection, query, k: 10, ...extra };
    return (await this.call('queries/top-documents', body)).results.map((result) => result.path);
  }
}

function parseJsonBody(path: string, text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    throw new Error(`${path} did not return JSON: ${text.slice(0, 200)}`);
  }
}

/** Calls `probe` until it returns a value other than null, for at most `msMax`. */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | null>,
  msMax = testEventMsMax,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    const found = await probe();
    if (found !== null) return found;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > msMax) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, checkPauseMs(waitedMs, 25)));
  }
}

/** Slices text by code points, the unit of offsets in the API. */
export function sliceCodePoints(text: string, start: number, end: number): string {
  return [...text].slice(start, end).join('');
}

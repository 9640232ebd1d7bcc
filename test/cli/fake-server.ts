import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';

const key = 'a-key-of-sixteen-characters';
export const adminKey = 'an-admin-key-of-sixteen';

/** Request sent by a command. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

interface FakeReply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

interface FakeDocument {
  bytes: Buffer;
  metadata: Record<string, unknown>;
  status: string;
  error: string | null;
}

/**
 * Server with documents in a Map that implements the operations used by the command line, so that a test can check both
 * the requests and their effect. `script` may reply to a request first, to simulate an overloaded or failing server.
 */
export class FakeServer {
  readonly requests: RecordedRequest[] = [];
  readonly collections = new Map<string, Map<string, FakeDocument>>();
  intercept: (request: RecordedRequest) => FakeReply | null = () => null;
  /** Fixed replies by path, for operations without state. */
  readonly fixedReplies = new Map<string, unknown>();
  /** Replies to successive requests by operation; the last one is repeated. */
  readonly replySequences = new Map<string, unknown[]>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(): Promise<FakeServer> {
    const server = createServer();
    const fake = new FakeServer(server);
    server.on('request', (request, response) => void fake.#handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Bodies of the JSON requests to one operation. */
  bodies(operation: string): unknown[] {
    const url = `/v1/${operation}`;
    return this.requests
      .filter((request) => request.url === url)
      .map((seen) => JSON.parse(String(seen.body)));
  }

  uploads(): RecordedRequest[] {
    return this.requests.filter(
      (request) => request.method === 'PUT' || request.url === '/v1/documents/upload',
    );
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = '', url = '', headers } = request;
    const recorded = { method, url, headers, body: Buffer.concat(parts) };
    this.requests.push(recorded);
    const reply = this.intercept(recorded) ?? this.#serve(recorded);
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.body instanceof Buffer ? reply.body : JSON.stringify(reply.body ?? {}));
  }

  #serve(request: RecordedRequest): FakeReply {
    if (request.method === 'PUT') return this.#putDocument(request);
    if (request.url === '/v1/documents/upload') return this.#putForm(request);
    if (request.method === 'GET') return { status: 200, body: Buffer.from(`raw bytes of ${request.url}`) };
    const body = JSON.parse(String(request.body)) as Record<string, unknown>;
    const operation = request.url.replace('/v1/', '');
    const sequence = this.replySequences.get(operation);
    if (sequence !== undefined)
      return { status: 200, body: sequence.length > 1 ? sequence.shift() : sequence[0] };
    if (this.fixedReplies.has(operation)) return { status: 200, body: this.fixedReplies.get(operation) };
    const handler = this.#handlers[operation];
    return handler === undefined ? { status: 404, body: { detail: `no ${operation}` } } : handler(body);
  }

  readonly #handlers: Record<string, (body: Record<string, unknown>) => FakeReply> = {
    'collections/get-collection-list': () => ({
      status: 200,
      body: { collection_names: [...this.collections.keys()] },
    }),
    'collections/add-collection': (body) => {
      this.collections.set(String(body.collection_name), new Map());
      return { status: 201, body: { message: 'Success!' } };
    },
    'collections/delete-collection': (body) => {
      const existed = this.collections.delete(String(body.collection_name));
      return existed
        ? { status: 200, body: { message: 'Success!' } }
        : { status: 404, body: { detail: 'The collection "x" does not exist.' } };
    },
    'documents/get-document-info-list': (body) => {
      const after = body.path_gt === undefined ? '' : String(body.path_gt);
      const prefix = body.path_prefix === undefined ? '' : String(body.path_prefix);
      const documents = this.#listDocuments(String(body.collection_name)).filter(
        (document) =>
          document.path > after &&
          document.path.startsWith(prefix) &&
          (body.only_failed !== true || document.index_status.endsWith('_failed')),
      );
      return { status: 200, body: { documents: documents.slice(0, Number(body.limit)) } };
    },
    'documents/get-document-info': (body) => {
      const document = this.#listDocuments(String(body.collection_name)).find(
        (entry) => entry.path === body.path,
      );
      if (document === undefined)
        return { status: 404, body: { detail: `The document "${body.path}" does not exist.` } };
      const content = body.include_content === true ? `text of ${document.path}` : null;
      return { status: 200, body: { document: { ...document, content } } };
    },
    'documents/delete-document': (body) => {
      const documents = this.collections.get(String(body.collection_name));
      const deleted = (body.path as string[]).filter((path) => documents?.delete(path) === true);
      return { status: 200, body: { deleted_paths: deleted } };
    },
    'documents/delete-documents': (body) => {
      const { limit = 3, dry_run: dryRun = false } = body as { limit?: number; dry_run?: boolean };
      const prefix = String(body.path_prefix ?? '');
      const documents = this.collections.get(String(body.collection_name));
      const matching = [...(documents?.keys() ?? [])].filter((path) => path.startsWith(prefix));
      const paths = matching.slice(0, limit);
      if (!dryRun) for (const path of paths) documents?.delete(path);
      const counted = dryRun ? { num_matching: matching.length } : {};
      return { status: 200, body: { deleted_paths: paths, has_more: matching.length > limit, ...counted } };
    },
    'documents/update-documents': ({ dry_run: dryRun = false }) => ({
      status: 200,
      body: {
        updated_paths: ['a'],
        skipped_paths: ['b'],
        has_more: false,
        ...(dryRun === true ? { num_matching: 1 } : {}),
      },
    }),
    'documents/update-document': () => ({ status: 200, body: { message: 'Success!' } }),
    'status/get-status': (body) => {
      const documents = this.#listDocuments(String(body.collection_name));
      const count = (...statuses: string[]) =>
        documents.filter((entry) => statuses.includes(entry.index_status)).length;
      return {
        status: 200,
        body: {
          num_documents: documents.length,
          num_parsing_documents: count('not_parsed', 'parsing'),
          num_indexing_documents: count('not_indexed', 'indexing'),
          num_indexed_documents: count('indexed'),
          num_failed_documents: count('parsing_failed', 'indexing_failed'),
          num_indexed_bytes: 1234,
        },
      };
    },
  };

  #putDocument(request: RecordedRequest): FakeReply {
    const [, , , collection = '', path = ''] = request.url.split('?')[0]!.split('/').map(decodeURIComponent);
    return this.#store(collection, path, request.body, {});
  }

  #putForm(request: RecordedRequest): FakeReply {
    const text = request.body.toString('latin1');
    const field = (name: string) => {
      const value = new RegExp(
        `name="${name}"(?:;[^\\r]*)?(?:\\r\\nContent-Type[^\\r]*)?\\r\\n\\r\\n([\\s\\S]*?)\\r\\n--`,
      ).exec(text);
      return Buffer.from(value?.[1] ?? '', 'latin1');
    };
    const metadata = JSON.parse(String(field('metadata'))) as Record<string, unknown>;
    return this.#store(String(field('collection_name')), String(field('path')), field('file'), metadata);
  }

  #store(collection: string, path: string, bytes: Buffer, metadata: Record<string, unknown>): FakeReply {
    const documents = this.collections.get(collection);
    if (documents === undefined) return { status: 404, body: { detail: 'no such collection' } };
    const existed = documents.has(path);
    const unsupported = path.endsWith('.bin');
    documents.set(path, {
      bytes,
      metadata,
      status: unsupported ? 'parsing_failed' : 'indexed',
      error: unsupported ? 'unsupported: this file type is unknown' : null,
    });
    return { status: existed ? 200 : 201, body: { message: 'Success!' } };
  }

  #listDocuments(collection: string) {
    const documents = [...(this.collections.get(collection) ?? new Map<string, FakeDocument>())];
    return documents
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([path, document]) => ({
        id: '00000000-0000-4000-8000-000000000000',
        collection_name: collection,
        path,
        metadata: document.metadata,
        index_status: document.status,
        created_at: '2026-01-01T00:00:00.000Z',
        size: document.bytes.length,
        num_pages: 1,
        file_url: `${this.url}/v1/documents/get-document?token=abc`,
        error: document.error,
        sha256: createHash('sha256').update(document.bytes).digest('hex'),
      }));
  }
}

/** Starts a server for a test; with `variables`, commands connect to it. */
export async function openFakeServer(
  t: Test,
): Promise<{ server: FakeServer; variables: Record<string, string> }> {
  const server = await FakeServer.listen();
  t.teardown(() => server.close());
  return { server, variables: { QUARRY_URL: `${server.url}/v1/`, QUARRY_API_KEY: key } };
}

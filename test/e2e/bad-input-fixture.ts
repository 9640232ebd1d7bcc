import { buildPdf } from '../parsing/pdf-fixtures.ts';
import type { Test } from '../support/tap.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { TestServer } from './server.ts';

/** A server with small limits, and cases of invalid input that must change nothing. */

export const bodyBytesMax = 150_000;
export const uploadBytesMax = 60_000;
export const collection_name = 'kept';

/** First bytes of a PDF, in base64. */
export const brokenPdf = Buffer.from(buildPdf(['x']).slice(0, 60)).toString('base64');

/** Valid bodies that a case modifies. */
export const validBodies: Record<string, object> = {
  'collections/add-collection': { collection_name: 'never' },
  'collections/delete-collection': { collection_name: 'nowhere' },
  'documents/add-document': { collection_name, path: 'never', content: { type: 'text', text: 'x' } },
  'documents/add-documents': { collection_name, documents: [] },
  'documents/update-document': { collection_name, path: 'doc' },
  'documents/delete-document': { collection_name, path: 'nowhere' },
  'documents/get-document-info': { collection_name, path: 'doc' },
  'documents/get-document-info-list': { collection_name },
  'documents/get-page-info': { collection_name, path: 'doc', page_index: 0 },
  'documents/get-document-text': { collection_name, path: 'doc' },
  'status/get-status': {},
  'queries/top-documents': { collection_name, query: 'x', k: 3 },
  'queries/top-pages': { collection_name, query: 'x', k: 3 },
  'queries/top-snippets': { collection_name, query: 'x', k: 3 },
  'models/embed': { model: 'zembed-1', input_type: 'query', input: 'x' },
  'models/rerank': { model: 'zerank-2', query: 'x', documents: ['y'] },
  'parsers/parse-document': { base64_data: 'aGVsbG8=' },
  embeddings: { model: 'zembed-1', input: 'x' },
  rerank: { model: 'zerank-2', query: 'x', documents: ['y'] },
  'usage/documents': { start_time: 0, end_time: 10, aggregation_window: 'hourly' },
};

/**
 * A case of invalid input. An object is merged into a valid body; a string or bytes are sent unchanged. `detail`: pattern
 * for the detail of the error.
 */
export type BadRequestCase = readonly [
  operation: string,
  body: object | string | Uint8Array,
  status: number,
  detail: RegExp,
];

export function errorTexts(body: unknown): string {
  const { detail } = body as { detail: string | { loc: string[]; msg: string }[] };
  return typeof detail === 'string'
    ? detail
    : detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
}

export class BadInputServer {
  readonly api: CheckedApiClient;

  private constructor(server: TestServer) {
    this.api = new CheckedApiClient(server);
  }

  /** Starts a server with one indexed document and one that failed. */
  static async start(t: Test): Promise<BadInputServer> {
    const limits = { BODY_BYTES_MAX: String(bodyBytesMax), UPLOAD_BYTES_MAX: String(uploadBytesMax) };
    const server = new BadInputServer(await TestServer.start(t, limits));
    const { api } = server;
    await api.call('collections/add-collection', { collection_name });
    const metadata = { color: 'red' };
    await api.add(collection_name, 'doc', 'A document that stays as it is.', { metadata });
    await api.add(collection_name, 'failed', { type: 'auto', base64_data: brokenPdf });
    return server;
  }

  /** All state that invalid input could change. */
  async readState(): Promise<unknown> {
    const { api } = this;
    const { documents } = await api.call('documents/get-document-info-list', { collection_name });
    return {
      documents,
      collections: await api.call('collections/get-collection-list'),
      status: await api.call('status/get-status'),
      found: await api.find(collection_name, 'document'),
    };
  }

  /** Checks that each case gets its status and detail, and that nothing changes. */
  async checkRejected(t: Test, cases: readonly BadRequestCase[]): Promise<void> {
    const before = await this.readState();
    for (const [operation, body, status, detail] of cases) {
      const isRaw = typeof body === 'string' || body instanceof Uint8Array;
      const sent = isRaw ? body : JSON.stringify({ ...validBodies[operation], ...body });
      const headers = { 'content-type': 'application/json' };
      const reply = await this.api.request(operation, undefined, { body: sent, headers });
      const name = `${operation} ${isRaw ? String(sent).slice(0, 60) : JSON.stringify(body).slice(0, 80)}`;
      t.equal(reply.status, status, name);
      t.match(errorTexts(reply.body), detail, `the detail of ${name}`);
    }
    t.same(await this.readState(), before, 'nothing has changed');
  }
}

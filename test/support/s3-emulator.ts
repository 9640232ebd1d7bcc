import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The operations of S3 that a backup uses, in memory: objects with conditional writes, lists and multipart uploads.
 * s3rver, which others use for this, has no conditional writes, on which the lock of a target depends.
 */
export class S3Emulator {
  readonly bucket = 'backups';
  readonly accessKeyId = 'TESTKEY';
  /** Tags of all objects. */
  readonly tags = new Map<string, string>();
  readonly objects = new Map<string, { readonly body: Buffer; readonly modifiedAt: Date }>();
  readonly uploads = new Map<
    string,
    { readonly key: string; readonly startedAt: Date; readonly parts: Map<number, Buffer> }
  >();
  /** Names of the operations so far. */
  readonly operations: string[] = [];
  /** Status and code with which requests fail; null: they succeed. */
  failure: { readonly status: number; readonly code: string } | null = null;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<S3Emulator> {
    const emulator = new S3Emulator();
    await new Promise<void>((resolve) => emulator.#server.listen(0, '127.0.0.1', resolve));
    return emulator;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<ServerResponse> {
    const url = new URL(request.url ?? '/', this.url);
    const [, bucket, ...rest] = decodeURIComponent(url.pathname).split('/');
    const body = await readBody(request);
    if (this.failure !== null) return sendError(response, this.failure.status, this.failure.code);
    if (!request.headers.authorization?.includes(`Credential=${this.accessKeyId}/`))
      return sendError(response, 403, 'InvalidAccessKeyId');
    if (bucket !== this.bucket) return sendError(response, 404, 'NoSuchBucket');
    const key = rest.join('/');
    if (key === '') return this.#answerBucket(url, response);
    if (url.searchParams.has('tagging')) return this.#answerTags(response);
    if (url.searchParams.has('uploads') || url.searchParams.has('uploadId'))
      return this.#answerUpload({ request, url, key, body }, response);
    return this.#answerObject({ request, key, body }, response);
  }

  #answerBucket(url: URL, response: ServerResponse): ServerResponse {
    const prefix = url.searchParams.get('prefix') ?? '';
    if (url.searchParams.has('uploads')) {
      this.operations.push('ListMultipartUploads');
      const found = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix));
      const entries = found.map(
        ([id, { key, startedAt }]) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${startedAt.toISOString()}</Initiated></Upload>`,
      );
      return sendXml(
        response,
        'ListMultipartUploadsResult',
        `<IsTruncated>false</IsTruncated>${entries.join('')}`,
      );
    }
    this.operations.push('ListObjectsV2');
    const after = url.searchParams.get('continuation-token') ?? '';
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    // Small pages, so that tests have several.
    const page = keys.slice(0, 7);
    const isTruncated = keys.length > page.length;
    const entries = page.map((key) => {
      const { body, modifiedAt } = this.objects.get(key)!;
      return `<Contents><Key>${key}</Key><Size>${body.length}</Size><ETag>${etagOf(body).replaceAll('"', '&quot;')}</ETag><LastModified>${modifiedAt.toISOString()}</LastModified></Contents>`;
    });
    const token = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    return sendXml(
      response,
      'ListBucketResult',
      `<IsTruncated>${isTruncated}</IsTruncated>${token}${entries.join('')}`,
    );
  }

  #answerUpload(
    { request, url, key, body }: { request: IncomingMessage; url: URL; key: string; body: Buffer },
    response: ServerResponse,
  ): ServerResponse {
    const id = url.searchParams.get('uploadId');
    if (id === null) {
      this.operations.push('CreateMultipartUpload');
      const created = randomUUID();
      this.uploads.set(created, { key, startedAt: new Date(), parts: new Map() });
      return sendXml(response, 'InitiateMultipartUploadResult', `<UploadId>${created}</UploadId>`);
    }
    const upload = this.uploads.get(id);
    if (upload === undefined) return sendError(response, 404, 'NoSuchUpload');
    if (request.method === 'PUT') {
      this.operations.push('UploadPart');
      upload.parts.set(Number(url.searchParams.get('partNumber')), body);
      return response.writeHead(200, { etag: etagOf(body) }).end();
    }
    this.uploads.delete(id);
    if (request.method === 'DELETE') {
      this.operations.push('AbortMultipartUpload');
      return response.writeHead(204).end();
    }
    this.operations.push('CompleteMultipartUpload');
    const parts = [...upload.parts].sort(([a], [b]) => a - b).map(([, part]) => part);
    this.#put(key, Buffer.concat(parts));
    return sendXml(response, 'CompleteMultipartUploadResult', `<Key>${key}</Key><ETag>"m"</ETag>`);
  }

  #answerTags(response: ServerResponse): ServerResponse {
    this.operations.push('GetObjectTagging');
    const tags = [...this.tags].map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`);
    return sendXml(response, 'Tagging', `<TagSet>${tags.join('')}</TagSet>`);
  }

  #answerObject(
    { request, key, body }: { request: IncomingMessage; key: string; body: Buffer },
    response: ServerResponse,
  ): ServerResponse {
    const object = this.objects.get(key);
    switch (request.method) {
      case 'PUT':
        this.operations.push('PutObject');
        if (request.headers['if-none-match'] === '*' && object !== undefined)
          return sendError(response, 412, 'PreconditionFailed');
        this.#put(key, body);
        return response.writeHead(200, { etag: etagOf(body) }).end();
      case 'DELETE':
        this.operations.push('DeleteObject');
        this.objects.delete(key);
        return response.writeHead(204).end();
      default:
        this.operations.push(request.method === 'HEAD' ? 'HeadObject' : 'GetObject');
        if (object === undefined) return sendError(response, 404, 'NoSuchKey');
        response.writeHead(200, { 'content-length': object.body.length, etag: etagOf(object.body) });
        return response.end(request.method === 'HEAD' ? undefined : object.body);
    }
  }

  #put(key: string, body: Buffer): void {
    this.objects.set(key, { body, modifiedAt: new Date() });
  }
}

/** Reads a body; `aws-chunked` bodies have a line with the size before each chunk, and trailers. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const whole = Buffer.concat(parts);
  if (request.headers['content-encoding']?.includes('aws-chunked') !== true) return whole;
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = whole.indexOf('\r\n', at);
    const size = Number.parseInt(whole.subarray(at, end).toString('latin1'), 16);
    if (!(size > 0)) return Buffer.concat(chunks);
    chunks.push(whole.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}

function sendXml(response: ServerResponse, name: string, content: string): ServerResponse {
  const body = `<?xml version="1.0" encoding="UTF-8"?><${name}>${content}</${name}>`;
  return response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
}

function sendError(response: ServerResponse, status: number, code: string): ServerResponse {
  response.writeHead(status, { 'content-type': 'application/xml' });
  return response.end(
    `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
  );
}

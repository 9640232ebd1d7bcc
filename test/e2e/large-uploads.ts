import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import type { TestServer } from './server.ts';
import { createTenant, type Tenant } from './tenant.ts';

/** Uploads larger than the memory limit, on both servers, and files left by an upload that a crash interrupts. */

const chunks = 150;
/** Chunks after which the client waits for the disk. */
const chunksPerWait = 50;
/** Chunks that are on their way to the disk at most, far more than the queue of a body and the buffers of two sockets. */
const chunksBehindMax = 32;
const collection_name = 'large';

/** Anonymous memory of the server in bytes; 0 if the system does not report it. */
function anonymousMemoryBytes({ pid }: TestServer): number {
  const status = `/proc/${pid}/status`;
  if (!existsSync(status)) return 0;
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(status, 'utf8'))?.[1]) * 1_024;
}

interface MultipartForm {
  readonly head: Buffer;
  readonly tail: Buffer;
  readonly boundary: string;
}

interface SentUpload {
  readonly form?: MultipartForm | null;
  readonly chunk: Buffer;
  readonly count?: number;
}

interface UploadResult {
  readonly status: Promise<number>;
  readonly peakBytes: () => number;
}

const incomingFiles = ({ data }: TestServer) => readdirSync(join(data, 'blobs', 'incoming'));

/** Bytes of the running upload that are in its file. */
function incomingBytes(server: TestServer): number {
  const [name] = incomingFiles(server);
  return name === undefined ? 0 : statSync(join(server.data, 'blobs', 'incoming', name)).size;
}

/**
 * Sends `count` times `chunk` as fast as the server reads them, wrapped in a multipart form if requested; fewer than all
 * are never completed. Every 50 chunks, it continues only once almost all of them are in the file.
 */
function upload(
  { server, key }: { server: TestServer; key: string },
  path: string,
  { form = null, chunk, count = chunks }: SentUpload,
): UploadResult {
  let peak = 0;
  const status = new Promise<number>((resolve, reject) => {
    const outgoing = request(`${server.url}/v1/documents/${path}`, {
      method: form === null ? 'PUT' : 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(form === null ? {} : { 'content-type': `multipart/form-data; boundary=${form.boundary}` }),
      },
    });
    outgoing.on('response', (reply) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    });
    outgoing.on('error', () => resolve(-1));
    const write = async () => {
      if (form !== null) outgoing.write(form.head);
      for (let i = 0; i < count; i++) {
        if (!outgoing.write(chunk)) await new Promise((drained) => outgoing.once('drain', drained));
        peak = Math.max(peak, anonymousMemoryBytes(server));
        const sent = i + 1;
        if (sent % chunksPerWait === 0)
          await waitUntil(
            `${sent - chunksBehindMax} of ${sent} MB on the disk`,
            () => incomingBytes(server) >= (sent - chunksBehindMax) * chunk.length,
          );
      }
      if (form !== null) outgoing.write(form.tail);
      if (count === chunks) outgoing.end();
    };
    write().catch(reject);
  });
  return { status, peakBytes: () => peak };
}

function formOf(path: string): MultipartForm {
  const boundary = 'a-boundary-of-the-tests';
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n`;
  const head = field('collection_name', collection_name) + field('path', path) + file;
  return { head: Buffer.from(head), tail: Buffer.from(`\r\n--${boundary}--\r\n`), boundary };
}

function chunkOf(word: string): Buffer {
  return Buffer.alloc(1_048_576, Buffer.from(`\0not text of ${word}\x01`));
}

const uploadKinds = {
  raw: { path: 'raw.bin', form: null, chunk: chunkOf('raw') },
  form: { path: 'form.bin', form: formOf('form.bin'), chunk: chunkOf('form') },
};

/** Uploads to an organization of their own. */
export class LargeUploads {
  readonly #server: TestServer;
  readonly #tenant: Tenant;

  private constructor(server: TestServer, tenant: Tenant) {
    this.#server = server;
    this.#tenant = tenant;
  }

  static async create(server: TestServer): Promise<LargeUploads> {
    const tenant = await createTenant(server);
    await tenant.api.call('collections/add-collection', { collection_name });
    return new LargeUploads(server, tenant);
  }

  /** Uploads 150 MB, as the body or as a part of a form. */
  async check(t: Test, kind: keyof typeof uploadKinds): Promise<void> {
    const { path, form, chunk } = uploadKinds[kind];
    const before = anonymousMemoryBytes(this.#server);
    const sending = this.#upload(form === null ? `${collection_name}/${path}` : 'upload', { form, chunk });
    t.equal(await sending.status, 201);
    // Node.js keeps buffers that were written until it collects garbage, on a busy machine for many of them.
    const grownBytes = sending.peakBytes() - before;
    t.ok(grownBytes < chunks * chunk.length, `not all of the file was in memory: ${grownBytes} bytes`);
    const info = await this.#tenant.api.call('documents/get-document-info', { collection_name, path });
    t.equal(info.document.size, chunks * chunk.length);
    const hash = hashOfAll(chunk);
    const stored = readdirSync(join(this.#server.data, 'blobs', hash.slice(0, 2), hash.slice(2, 4)));
    t.same(stored, [hash], 'the stored bytes equal the sent bytes');
  }

  /** Kills the server during an upload. */
  async kill(t: Test): Promise<void> {
    const half = this.#upload(`${collection_name}/half.bin`, { chunk: uploadKinds.raw.chunk, count: 5 });
    await waitUntil('the start of the upload', () => incomingFiles(this.#server).length > 0);
    await this.#server.stop('SIGKILL');
    t.equal(await half.status, -1);
    t.equal(incomingFiles(this.#server).length, 1, 'a partial file exists');
  }

  /** Checks that the restart after the kill has deleted the partial file. */
  checkNoPartialFile(t: Test): void {
    t.same(incomingFiles(this.#server), [], 'the partial file is deleted');
  }

  #upload(path: string, sent: SentUpload): UploadResult {
    return upload({ server: this.#server, key: this.#tenant.key }, path, sent);
  }
}

function hashOfAll(chunk: Buffer): string {
  const hash = createHash('sha256');
  for (let i = 0; i < chunks; i++) hash.update(chunk);
  return hash.digest('hex');
}

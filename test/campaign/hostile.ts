import { setTimeout as wait } from 'node:timers/promises';
import { type HttpReply, sendRequest } from '../e2e/people.ts';
import { buildTenantFixture, fromNewHost, type TenantFixture } from '../http/tenant-fixture.ts';
import { decompressionBombs } from './hostile-bombs.ts';
import { filesUnder, mutateFile, type SampleFile, sampleFiles } from './hostile-files.ts';
import { invalidBody, malformedRequests, sendRaw } from './hostile-requests.ts';
import { PublishedApi, type PublishedOperation } from './openapi.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { serverHost } from './server-host.ts';

const defaultMinutes = 20;
const mutationsDefault = 20;
const filesMaxDefault = 300;
const uploadsAtOnce = 4;
const requestsAtOnce = 8;
const bodiesPerOperation = 12;
const aliveMsMax = 60_000;
const callers = ['all', 'OWNER', 'administrator', 'anonymous'] as const;
/** Excluded: these operations delete state that the other requests need. */
const destructive = /logout$|^delete_any_organization$|^delete_organization$/;

/** Malformed and malicious client input. */
export const hostilePart: Part = {
  name: 'hostile',
  description: 'mutated documents, bombs, broken HTTP and wrong bodies to every published operation',
  guarantees: [
    { name: 'crashes', text: 'the server keeps running and replying' },
    { name: 'errors', text: 'no reply has the status 500' },
    { name: 'settles', text: 'every document ends as indexed or failed, with a code' },
  ],
  async run(context) {
    const options = {
      onSpawn: (child: Parameters<PartContext['trackProcess']>[0]) => context.trackProcess(child),
    };
    const fixture = await buildTenantFixture(serverHost(context), options, {
      OFFICE: 'off',
      LOG_LEVEL: 'warn',
    });
    return new HostileInputRun(context, fixture).run();
  },
};

class ServerExitedError extends Error {}

class HostileInputRun {
  readonly #context: PartContext;
  readonly #fixture: TenantFixture;
  readonly #pid: number;
  readonly #outcomes = new Map<string, number>();
  #uploads = 0;
  #requests = 0;
  #slowestMs = 0;

  constructor(context: PartContext, fixture: TenantFixture) {
    this.#context = context;
    this.#fixture = fixture;
    this.#pid = fixture.server.pid;
  }

  async run(): Promise<Measurements> {
    try {
      await this.#runAll();
    } catch (error) {
      // The violation has been recorded; the remaining steps need a running server.
      if (!(error instanceof ServerExitedError)) throw error;
    }
    return {
      uploads: this.#uploads,
      requests: this.#requests,
      slowestDocumentMs: Math.round(this.#slowestMs),
      ...Object.fromEntries([...this.#outcomes].sort()),
    };
  }

  async #runAll(): Promise<void> {
    await this.#rawRequests();
    await this.#operations();
    await this.#files(
      'bombs',
      decompressionBombs().map((file) => ({ ...file, damage: 'bomb' })),
    );
    await this.#mutations();
    if (this.#context.plantsFault) process.kill(this.#pid, 'SIGKILL');
    await this.#checkAlive('at the end');
  }

  async #rawRequests(): Promise<void> {
    const port = Number(new URL(this.#fixture.server.url).port);
    const token = this.#fixture.headers.all.authorization?.replace('Bearer ', '') ?? '';
    for (const isSlow of [false, true]) {
      const malformed = malformedRequests(this.#context.random, token);
      const outcomes = await Promise.all(
        malformed.map(([description, bytes]) => sendRaw(port, description, bytes, { isSlow })),
      );
      for (const { description, statuses, text } of outcomes) {
        this.#requests += 1;
        this.#count(`raw ${statuses[0] ?? 'closed'}`);
        if (statuses.includes(500)) this.#context.violate('errors', `${description} returned 500`, text);
      }
      await this.#checkAlive('after broken HTTP');
    }
    this.#context.progress(`${this.#requests} broken requests`);
  }

  async #operations(): Promise<void> {
    const api = await PublishedApi.read(this.#fixture.server.url);
    const operations = api.operations.filter(({ id }) => !destructive.test(id));
    const tasks = operations.flatMap((operation) =>
      Array.from({ length: bodiesPerOperation }, () => operation),
    );
    await forEachConcurrently(tasks, requestsAtOnce, async (operation) => {
      if (this.#context.signal.aborted) return;
      const caller = callers[this.#context.random.below(callers.length)]!;
      const { status, text } = await this.#call(api, operation, caller);
      this.#requests += 1;
      this.#count(`operation ${status}`);
      if (status === 500)
        this.#context.violate('errors', `${operation.path} as ${caller} returned 500`, text);
      this.#context.progress(`${this.#requests} requests to ${operations.length} operations`);
    });
    await this.#checkAlive('after wrong bodies');
  }

  async #call(
    api: PublishedApi,
    operation: PublishedOperation,
    caller: (typeof callers)[number],
  ): Promise<{ status: number | string; text: string }> {
    const { random } = this.#context;
    const body = operation.method === 'GET' ? undefined : invalidBody(api, operation, random);
    const path = operation.path.replace(/\{\w+\}/g, () => encodeURIComponent(`odd ${random.below(9)}/..\0é`));
    const query = operation.parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name }) => `${name}=%ff%00${'x'.repeat(random.below(50))}`);
    const type = operation.type?.startsWith('multipart') ? `${operation.type}; boundary=b` : operation.type;
    try {
      const response = await fetch(`${this.#fixture.server.url}${path}?${query.join('&')}`, {
        method: operation.method,
        redirect: 'manual',
        headers: {
          ...(type === null ? {} : { 'content-type': type.replace('*/*', 'text/plain') }),
          ...fromNewHost(),
          ...this.#fixture.headers[caller],
        },
        ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { status: 'closed', text: String(error) };
    }
  }

  async #mutations(): Promise<void> {
    const { size, random } = this.#context;
    const files =
      size.files === null ? sampleFiles() : filesUnder(size.files, size.filesMax ?? filesMaxDefault);
    const chosen = files.slice(0, size.filesMax ?? files.length);
    const perFile = size.mutations ?? mutationsDefault;
    const isBounded = size.mutations !== null && size.minutes === null;
    for (let round = 0; round < perFile; round += 1) {
      if (this.#context.signal.aborted || (!isBounded && this.#context.isOver(defaultMinutes))) return;
      const damaged = chosen.map((file) => mutateFile(file, files[random.below(files.length)]!, random));
      await this.#files(`round ${round + 1} of ${perFile}`, damaged);
    }
  }

  async #files(description: string, files: readonly (SampleFile & { damage: string })[]): Promise<void> {
    await forEachConcurrently(files, uploadsAtOnce, async (file) => {
      if (this.#context.signal.aborted) return;
      await this.#upload(file);
      this.#context.progress(`${description}: ${this.#uploads} uploads, ${file.name} with ${file.damage}`);
    });
    await this.#checkAlive(description);
  }

  async #upload({ name, bytes, damage }: SampleFile & { damage: string }): Promise<void> {
    const started = performance.now();
    const { server, tenant: north, headers } = this.#fixture;
    const path = `${this.#uploads}-${name}`;
    this.#uploads += 1;
    const address = `${server.url}/v1/documents/${north.collection_name}/${encodeURIComponent(path)}?wait=true`;
    let reply: HttpReply | null = null;
    try {
      const body = Buffer.from(bytes);
      const response = await fetch(address, { method: 'PUT', headers: headers.all, body });
      const text = await response.text();
      reply = { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
    } catch (error) {
      this.#count('upload without reply');
      this.#context.violate('crashes', `${name} with ${damage}: no reply`, String(error));
      return;
    }
    if (reply.status === 500) this.#context.violate('errors', `${name} with ${damage}: 500`, reply.text);
    if (reply.status < 300) await this.#waitForOutcome(path, damage);
    else this.#count(`upload ${reply.status}`);
    this.#slowestMs = Math.max(this.#slowestMs, performance.now() - started);
    const { collection_name } = north;
    await this.#fixture.askAsTenant('documents/delete-document', { collection_name, path });
  }

  /** Waits for the final status of a document; a crashed parser is counted by its error code. */
  async #waitForOutcome(path: string, damage: string): Promise<void> {
    const { collection_name } = this.#fixture.tenant;
    const deadline = performance.now() + 10 * aliveMsMax;
    for (;;) {
      const { body } = await this.#fixture.askAsTenant('documents/get-document-info', {
        collection_name,
        path,
      });
      const { index_status: status, error_code: code } = body.document ?? {};
      if (status === 'indexed') return this.#count('document indexed');
      if (/failed$/.test(status)) {
        this.#count(`document ${code}`);
        if (typeof code !== 'string') this.#context.violate('settles', `${path} failed without a code`);
        return;
      }
      if (performance.now() > deadline || status === undefined) {
        this.#context.violate('settles', `${path} with ${damage} is still ${status}`, body);
        return;
      }
      await wait(50);
    }
  }

  /** The same server process must reply. */
  async #checkAlive(description: string): Promise<void> {
    if (this.#context.signal.aborted) return;
    const deadline = performance.now() + aliveMsMax;
    for (;;) {
      try {
        const { status } = await sendRequest(`${this.#fixture.server.url}/healthz`, { method: 'GET' });
        if (status === 200 && this.#fixture.server.pid === this.#pid) return;
      } catch {
        // The server may be busy; the deadline below bounds the wait.
      }
      if (performance.now() > deadline || !isProcessAlive(this.#pid)) {
        const log = this.#fixture.server.log.slice(-3_000);
        this.#context.violate('crashes', `the server does not respond ${description}`, log);
        throw new ServerExitedError();
      }
      await wait(100);
    }
  }

  #count(outcome: string): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  }
}

function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Runs a task for each item with bounded concurrency. */
async function forEachConcurrently<T>(
  items: readonly T[],
  atOnce: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items].reverse();
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await task(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

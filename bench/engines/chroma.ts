import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { peerFolder, peerVersion, requirePeer } from '../peers/peer-packages.ts';
import { filters, type TagFilter } from '../vectors/tags.ts';
import {
  type EngineKind,
  type EngineOptions,
  type EngineSearch,
  graphParameters,
  type VectorEngine,
} from './vector-engine.ts';

/** Used subset of Chroma's client API. */
interface Collection {
  add(rows: { ids: string[]; embeddings: number[][]; metadatas: Record<string, boolean>[] }): Promise<void>;
  query(options: {
    queryEmbeddings: (readonly number[])[];
    nResults: number;
    where?: Record<string, boolean>;
    include: readonly [];
  }): Promise<{ readonly ids: readonly (readonly string[])[] }>;
  modify(options: { configuration: { hnsw: { ef_search: number } } }): Promise<void>;
}
interface ChromaClient {
  heartbeat(): Promise<number>;
  createCollection(options: object): Promise<Collection>;
  getCollection(options: object): Promise<Collection>;
}
interface Chroma {
  ChromaClient: new (options: { host: string; port: number; ssl: boolean }) => ChromaClient;
}

const collectionNamed = {
  name: 'rows',
  /** Required by Chroma, but never called, because the vectors are supplied. */
  embeddingFunction: { generate: () => Promise.reject(new Error('The bench supplies its own vectors.')) },
};
const batchRows = 1_000;
const startMsMax = 60_000;

/**
 * Chroma's server in its own process, called through its client over HTTP; the CPU time is that of the
 * server. The server stores a changed ef of a collection at once, but keeps searching an already opened index
 * with the previous one: it is therefore restarted for each.
 */
export const chroma: EngineKind = {
  name: 'chroma',
  efRange: { min: 10, max: 2_000 },
  filters: true,
  synchronous: false,
  version: () => `${peerVersion('chromadb')}, its server`,
  open: (options) => ChromaEngine.open(options),
};

class ChromaEngine implements VectorEngine {
  readonly replace = null;
  readonly #directory: string;
  readonly #dimensions: number;
  #server: Server;
  #collection: Collection;
  #ef: number | null = null;

  static async open({ directory, dimensions, load }: EngineOptions): Promise<ChromaEngine> {
    const server = await startServer(directory);
    const hnsw = {
      space: 'cosine',
      max_neighbors: graphParameters.connections,
      ef_construction: graphParameters.efConstruction,
    };
    const collection = load
      ? await server.client.getCollection(collectionNamed)
      : await server.client.createCollection({ ...collectionNamed, configuration: { hnsw } });
    return new ChromaEngine({ directory, dimensions, server, collection });
  }

  private constructor(parts: {
    readonly directory: string;
    readonly dimensions: number;
    readonly server: Server;
    readonly collection: Collection;
  }) {
    this.#directory = parts.directory;
    this.#dimensions = parts.dimensions;
    this.#server = parts.server;
    this.#collection = parts.collection;
  }

  get serverPid(): number {
    return this.#server.process.pid!;
  }

  async add(first: number, vectors: Float32Array, tags: Uint8Array): Promise<void> {
    for (let start = 0; start < tags.length; start += batchRows) {
      const rows = Array.from({ length: Math.min(batchRows, tags.length - start) }, (_, i) => start + i);
      await this.#collection.add({
        ids: rows.map((row) => String(first + row)),
        embeddings: rows.map((row) =>
          Array.from(vectors.subarray(row * this.#dimensions, (row + 1) * this.#dimensions)),
        ),
        metadatas: rows.map((row) =>
          Object.fromEntries(
            filters.map((filter) => [tagName(filter), ((tags[row]! >> filter.bit) & 1) === 1] as const),
          ),
        ),
      });
    }
  }

  /** Runs a search, because the first search waits for pending indexing. */
  async finish(): Promise<void> {
    await this.#collection.query({
      queryEmbeddings: [new Array(this.#dimensions).fill(1 / Math.sqrt(this.#dimensions))],
      nResults: 1,
      include: [],
    });
  }

  async search({ query, count, ef, filter }: EngineSearch): Promise<ArrayLike<number>> {
    if (ef !== this.#ef) await this.#setEf(ef);
    const { ids } = await this.#collection.query({
      queryEmbeddings: [query.numbers],
      nResults: count,
      ...(filter === null ? {} : { where: { [tagName(filter)]: true } }),
      include: [],
    });
    return (ids[0] ?? []).map(Number);
  }

  /** A collection is always persisted. */
  readonly save = async (): Promise<void> => {};

  bytesByPart(): null {
    return null;
  }

  close(): Promise<void> {
    return endServer(this.#server);
  }

  async #setEf(ef: number): Promise<void> {
    await this.#collection.modify({ configuration: { hnsw: { ef_search: ef } } });
    await endServer(this.#server);
    this.#server = await startServer(this.#directory);
    this.#collection = await this.#server.client.getCollection(collectionNamed);
    this.#ef = ef;
    await this.finish();
  }
}

interface Server {
  readonly process: ReturnType<typeof spawn>;
  readonly client: ChromaClient;
}

async function startServer(directory: string): Promise<Server> {
  const port = await freePort();
  const program = join(peerFolder('chromadb'), 'dist', 'cli.mjs');
  const programArguments = ['run', '--path', directory, '--host', '127.0.0.1', '--port', String(port)];
  const server = spawn(process.execPath, [program, ...programArguments], { stdio: 'ignore' });
  // Kills the server whenever this process exits.
  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  server.once('exit', () => process.off('exit', kill));
  const { ChromaClient } = requirePeer('chromadb') as Chroma;
  const client = new ChromaClient({ host: '127.0.0.1', port, ssl: false });
  await waitUntilAlive(client, server);
  return { process: server, client };
}

async function endServer({ process: server }: Server): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}

function tagName({ bit }: TagFilter): string {
  return `tag${bit}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('There is no free port.');
  return address.port;
}

async function waitUntilAlive(client: ChromaClient, server: ReturnType<typeof spawn>): Promise<void> {
  const until = performance.now() + startMsMax;
  for (;;) {
    try {
      await client.heartbeat();
      return;
    } catch (error) {
      if (server.exitCode !== null) throw new Error(`Chroma's server ended with ${server.exitCode}.`);
      if (performance.now() > until) throw error;
      await sleep(100);
    }
  }
}

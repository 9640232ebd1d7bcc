import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addModel } from '../../src/models/added-models.ts';
import { BenchApiClient } from './api.ts';
import { heapFlags } from './heap-flags.ts';
import { type ManagedProcess, startProcess } from './managed-process.ts';
import { slowModel } from './slow-model.ts';

export const httpKinds = ['auto', 'uws', 'node'] as const;
export type HttpKind = (typeof httpKinds)[number];

/** A Quarry server in its own process with an empty data directory, as a user starts it. */
export interface QuarryServer {
  readonly pid: number;
  readonly port: number;
  readonly key: string;
  /** See `QuarryServerOptions.profileFile`. */
  readonly profileFile: string | null;
  readonly api: BenchApiClient;
  /** HTTP server in use. */
  readonly http: 'uws' | 'node';
  /** Stops the process and removes its data, unless `data` was given. Idempotent. */
  stop(): Promise<void>;
  /** Kills the process at once and keeps its data. */
  kill(): Promise<void>;
}

export interface QuarryServerOptions {
  readonly http: HttpKind;
  /** A data directory that outlives the server, with the API key of its first organization. */
  readonly data?: { readonly folder: string; readonly key: string };
  /** Folder of an embedding model that replaces the built-in one, with one thread per core; null: none. */
  readonly modelFolder?: string | null;
  /** Further settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** File for CPU profiles, see `profileServer`; null: the server cannot be profiled. */
  readonly profileFile?: string | null;
}

const profileHook = new URL('./profile-hook.js', import.meta.url).href;
const commandLine = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

export function randomKey(): string {
  return `bench_${randomBytes(16).toString('hex')}`;
}

export async function startQuarryServer(options: QuarryServerOptions): Promise<QuarryServer> {
  const data = options.data?.folder ?? (await mkdtemp(join(tmpdir(), 'quarry-bench-')));
  const key = options.data?.key ?? randomKey();
  const removeData = async () => {
    if (options.data === undefined) await rm(data, { recursive: true, force: true });
  };
  let child: ManagedProcess;
  try {
    const modelVariables = await addSlowModel(data, options.modelFolder ?? null);
    child = await startProcess({
      programArguments: [...heapFlags, ...hookArguments(options), commandLine, 'serve'],
      environment: {
        ...serverEnvironment({ data, key, http: options.http }),
        ...modelVariables,
        ...options.settings,
        BENCH_PROFILE: options.profileFile ?? undefined,
      },
      ready: /Quarry is ready at (http:\/\/127\.0\.0\.1:(\d+)) /,
      readyMsMax: 120_000,
      stopMsMax: 60_000,
    });
  } catch (error) {
    await removeData();
    throw error;
  }
  const stop = async () => {
    try {
      await child.stop();
    } finally {
      await removeData();
    }
  };
  try {
    const [, url = '', port] = await child.ready;
    const api = new BenchApiClient({ url, key });
    return {
      pid: child.pid,
      port: Number(port),
      key,
      profileFile: options.profileFile ?? null,
      api,
      http: await api.detectHttpServer(),
      stop,
      kill: () => child.kill(),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function hookArguments({ profileFile = null }: QuarryServerOptions): string[] {
  return profileFile === null ? [] : ['--import', profileHook];
}

/** Adds the model. Returns the environment variables that make the server use it. */
async function addSlowModel(data: string, folder: string | null): Promise<Record<string, string>> {
  if (folder === null) return {};
  const unsetOptions = { kind: undefined, graph: undefined, pooling: undefined, dimensions: undefined };
  const prompts = { tokensMax: undefined, queryPrompt: undefined, documentPrompt: undefined };
  await addModel(data, folder, { id: slowModel, ...unsetOptions, ...prompts, template: undefined });
  return {
    QUARRY_EMBEDDING_MODEL: slowModel,
    QUARRY_EMBED_THREADS: String(availableParallelism()),
    // Disables the cache, so that repeated questions are embedded again.
    QUARRY_QUERY_VECTOR_CACHE_BYTES: '0',
  };
}

/** Returns the environment of this process without Quarry settings, because a bench measures defaults. */
function serverEnvironment({ data, key, http }: { data: string; key: string; http: HttpKind }) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QUARRY_'));
  return {
    ...Object.fromEntries(inherited),
    QUARRY_HOST: '127.0.0.1',
    QUARRY_PORT: '0',
    QUARRY_DATA: data,
    QUARRY_API_KEY: key,
    QUARRY_HTTP: http,
    QUARRY_LOG_LEVEL: 'warn',
  };
}

import { type Api, ReplyFailure } from './api.ts';
import { byteWords, table } from './layout.ts';

/** Memory of the whole server, of all organizations together. */
export interface ServerMemory {
  /** Memory without mapped files. Above `limit_bytes` the server refuses new documents. */
  readonly held_bytes: number;
  readonly limit_bytes: number;
  /** Bytes of the loaded shards and of what queries keep, by part. */
  readonly index_bytes: Readonly<Record<string, number>>;
  readonly query_cache_bytes: Readonly<Record<string, number>>;
}

/** Reads the memory of the server; null if the caller has no permission. */
export async function readServerMemory(api: Api): Promise<ServerMemory | null> {
  let text: string;
  try {
    text = await (await api.send('/metrics', { method: 'GET' })).text();
  } catch (error) {
    if (error instanceof ReplyFailure) return null;
    throw error;
  }
  const held = figures(text, 'quarry_memory_held_bytes').get('');
  const limit = figures(text, 'quarry_memory_held_bytes_max').get('');
  if (held === undefined || limit === undefined) return null;
  return {
    held_bytes: held,
    limit_bytes: limit,
    index_bytes: Object.fromEntries(figures(text, 'quarry_index_bytes')),
    query_cache_bytes: Object.fromEntries(figures(text, 'quarry_query_cache_bytes')),
  };
}

/** For people. */
export function memoryLines(memory: ServerMemory): string[] {
  const rows = [
    ...Object.entries(memory.index_bytes).map(([part, bytes]) => [
      `index: ${part.replaceAll('_', ' ')}`,
      bytes,
    ]),
    ...Object.entries(memory.query_cache_bytes).map(([part, bytes]) => [`queries: ${part}`, bytes]),
    ['held, of everything', memory.held_bytes],
    ['held at most', memory.limit_bytes],
  ] as const;
  return [
    '',
    ...table(
      ['Memory of the server', '>Bytes'],
      rows.map(([part, bytes]) => [String(part), byteWords(Number(bytes))]),
    ),
  ];
}

/** The values of one figure by its `part`, '' without one: lines of the Prometheus text format. */
function figures(text: string, name: string): Map<string, number> {
  const line = new RegExp(`^${name}(?:\\{part="([^"]*)"\\})? (\\S+)$`, 'gm');
  return new Map([...text.matchAll(line)].map(([, part = '', value]) => [part, Number(value)]));
}

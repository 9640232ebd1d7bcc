import { type ApiClient, ApiResponseError } from './api-client.ts';
import { formatBytes, formatTable } from './text-layout.ts';

/** Memory of the whole server, which serves more than one organization: for whoever operates it. */
export interface ServerMemory {
  /** What no file backs: what counts against `limit_bytes`, beyond which documents are refused. */
  readonly held_bytes: number;
  readonly limit_bytes: number;
  /** Bytes of the loaded shards and of what queries keep, by part. */
  readonly index_bytes: Readonly<Record<string, number>>;
  readonly query_cache_bytes: Readonly<Record<string, number>>;
}

/** Reads the figures; null where this caller may not see them. */
export async function readServerMemory(api: ApiClient): Promise<ServerMemory | null> {
  let text: string;
  try {
    text = await (await api.send('/metrics', { method: 'GET' })).text();
  } catch (error) {
    if (error instanceof ApiResponseError) return null;
    throw error;
  }
  const held = parseMetric(text, 'quarry_memory_held_bytes').get('');
  const limit = parseMetric(text, 'quarry_memory_held_bytes_max').get('');
  if (held === undefined || limit === undefined) return null;
  return {
    held_bytes: held,
    limit_bytes: limit,
    index_bytes: Object.fromEntries(parseMetric(text, 'quarry_index_bytes')),
    query_cache_bytes: Object.fromEntries(parseMetric(text, 'quarry_query_cache_bytes')),
  };
}

/** For people. */
export function formatMemory(memory: ServerMemory): string[] {
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
    ...formatTable(
      ['Memory of the server', '>Bytes'],
      rows.map(([part, bytes]) => [String(part), formatBytes(Number(bytes))]),
    ),
  ];
}

/** The values of one figure by its `part`, '' without one: lines of the Prometheus text format. */
function parseMetric(text: string, name: string): Map<string, number> {
  const line = new RegExp(`^${name}(?:\\{part="([^"]*)"\\})? (\\S+)$`, 'gm');
  return new Map([...text.matchAll(line)].map(([, part = '', value]) => [part, Number(value)]));
}

import { type ApiClient, ApiResponseError } from './api-client.ts';
import { formatBytes, formatTable } from './text-layout.ts';

/** Memory of the whole server, which serves several organizations; visible to its operator. */
export interface ServerMemory {
  /** Memory not backed by files; counts against `limit_bytes`, above which documents are rejected. */
  readonly held_bytes: number;
  readonly limit_bytes: number;
  /** Bytes of the loaded shards and of the query caches, by part. */
  readonly index_bytes: Readonly<Record<string, number>>;
  readonly query_cache_bytes: Readonly<Record<string, number>>;
}

/** Reads the metrics; null if the caller has no access to them. */
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

/** Formats the metrics as a table. */
export function formatMemory(memory: ServerMemory): string[] {
  const rows = [
    ...Object.entries(memory.index_bytes).map(([part, bytes]) => [
      `index: ${part.replaceAll('_', ' ')}`,
      bytes,
    ]),
    ...Object.entries(memory.query_cache_bytes).map(([part, bytes]) => [`queries: ${part}`, bytes]),
    ['total', memory.held_bytes],
    ['limit', memory.limit_bytes],
  ] as const;
  return [
    '',
    ...formatTable(
      ['Memory of the server', '>Bytes'],
      rows.map(([part, bytes]) => [String(part), formatBytes(Number(bytes))]),
    ),
  ];
}

/**
 * Returns the values of one metric by its `part` label ('' without it), parsed from the Prometheus text
 * format.
 */
function parseMetric(text: string, name: string): Map<string, number> {
  const line = new RegExp(`^${name}(?:\\{part="([^"]*)"\\})? (\\S+)$`, 'gm');
  return new Map([...text.matchAll(line)].map(([, part = '', value]) => [part, Number(value)]));
}

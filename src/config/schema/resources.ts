import {
  enumSetting,
  integerSetting,
  type Setting,
  type SettingOptions,
  secondsSetting,
  textSetting,
} from '../setting.ts';

const megabyte = 1_000_000;
const gigabyte = 1_000_000_000;

const bytesSetting = (minimum: number, maximum: number, defaultValue: number, options: SettingOptions) =>
  integerSetting(minimum, maximum, defaultValue, { unit: 'bytes', ...options });

/** Data directory, memory, caches and bounds of concurrent work. */
export const resourceSettings = {
  data: textSetting('./data', { meaning: 'Data directory; relative to the working directory' }),
  uploadBytesMax: bytesSetting(1_000, 100 * gigabyte, 200 * megabyte, {
    meaning: 'Maximum size of a file',
  }),
  bodyBytesMax: bytesSetting(100_000, 500 * megabyte, 270 * megabyte, {
    meaning: 'Maximum size of a JSON body; base64 adds one third to a file',
  }),
  queueDocumentsMax: integerSetting(1, 100_000_000, 200_000, {
    meaning: 'Maximum documents in the ingest queue; at the limit, new documents get status 429',
    unit: 'documents',
  }),
  memoryBytesMax: integerSetting(256 * megabyte, 100_000 * gigabyte, null, {
    meaning: 'Memory limit of the process, without mapped files; at the limit, new documents get status 429',
    unit: 'bytes',
    defaultMeaning: '80 % of the memory of the machine or container',
  }),
  queryCacheBytes: bytesSetting(0, 100_000 * gigabyte, 128 * megabyte, {
    meaning: 'Size of the cache of document texts for queries; 0 disables it',
  }),
  queryVectorCacheBytes: bytesSetting(0, 100_000 * gigabyte, 16 * megabyte, {
    meaning: 'Size of the cache of query vectors of custom models and model services; 0 disables it',
  }),
  queriesRunningMax: integerSetting(1, 4_096, 128, {
    meaning:
      'Concurrent queries without a reranker; others are queued, with round robin between organizations',
    unit: 'queries',
  }),
  rerankedQueriesRunningMax: integerSetting(1, 4_096, null, {
    meaning:
      'Concurrent queries with a local reranker; others are queued, with round robin between organizations',
    unit: 'queries',
    defaultMeaning: 'one more than QUARRY_RERANK_THREADS',
  }),
  diskReserveBytes: bytesSetting(0, 100_000 * gigabyte, gigabyte, {
    meaning: 'Free disk space to keep; below it, writes get status 429',
  }),
  storeCompression: enumSetting(['none', 'zstd'], 'none', {
    meaning: 'Compression of new tables of the store. `zstd` takes a fifth less disk space and more CPU time',
  }),
  pageCacheBytes: bytesSetting(0, 100_000 * gigabyte, gigabyte, {
    meaning:
      'Size of the disk cache for page images and LibreOffice conversions; the least recently used entries are evicted first',
  }),
  snapshotSeconds: secondsSetting(5, 86_400, 300, {
    meaning:
      'Interval between snapshots of the search shards. A snapshot is also written as soon as a sixteenth of the rows, at least 8,192, is new, so that recovery after a crash is fast',
  }),
} satisfies Record<string, Setting>;

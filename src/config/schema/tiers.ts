import { integerSetting, type Setting } from '../setting.ts';

const gigabyte = 1_000_000_000;

const optionalLimit = (unit: string, meaning: string, defaultValue = 0) =>
  integerSetting(0, 1_000_000_000_000_000, defaultValue, { meaning: `${meaning}; 0 means no limit`, unit });
const perMinuteLimit = (defaultValue: number, unit: string, meaning: string) =>
  integerSetting(1, 1_000_000_000_000, defaultValue, { meaning, unit });

/** Limits of the tiers without a plans file. */
export const tierSettings = {
  freeBytesPerMinuteFast: perMinuteLimit(500_000, 'bytes/minute', 'Tier free: fast model calls'),
  freeBytesPerMinuteSlow: perMinuteLimit(5_000_000, 'bytes/minute', 'Tier free: slow model calls'),
  freeRerankRequestsPerMinute: perMinuteLimit(1_000, 'requests/minute', 'Tier free: rerank requests'),
  freeRequestsPerMinute: optionalLimit('requests/minute', 'Tier free: requests of any kind'),
  freeQueriesPerMinute: optionalLimit('queries/minute', 'Tier free: queries'),
  freeDocumentBytesPerMinute: optionalLimit('bytes/minute', 'Tier free: raw bytes of received documents'),
  freeDocumentsMax: optionalLimit('documents', 'Tier free: stored documents', 10_000),
  freeStorageBytesMax: optionalLimit('bytes', 'Tier free: raw bytes of stored documents', gigabyte),
  freeIngestDocumentsMax: optionalLimit('documents', 'Tier free: documents in the ingest queue'),
  starterBytesPerMinuteFast: perMinuteLimit(2_500_000, 'bytes/minute', 'Tier starter: fast model calls'),
  starterBytesPerMinuteSlow: perMinuteLimit(20_000_000, 'bytes/minute', 'Tier starter: slow model calls'),
  starterRerankRequestsPerMinute: perMinuteLimit(5_000, 'requests/minute', 'Tier starter: rerank requests'),
  starterRequestsPerMinute: optionalLimit('requests/minute', 'Tier starter: requests of any kind'),
  starterQueriesPerMinute: optionalLimit('queries/minute', 'Tier starter: queries'),
  starterDocumentBytesPerMinute: optionalLimit(
    'bytes/minute',
    'Tier starter: raw bytes of received documents',
  ),
  starterDocumentsMax: optionalLimit('documents', 'Tier starter: stored documents'),
  starterStorageBytesMax: optionalLimit('bytes', 'Tier starter: raw bytes of stored documents'),
  starterIngestDocumentsMax: optionalLimit('documents', 'Tier starter: documents in the ingest queue'),
  teamsBytesPerMinuteFast: perMinuteLimit(10_000_000, 'bytes/minute', 'Tier teams: fast model calls'),
  teamsBytesPerMinuteSlow: perMinuteLimit(100_000_000, 'bytes/minute', 'Tier teams: slow model calls'),
  teamsRerankRequestsPerMinute: perMinuteLimit(20_000, 'requests/minute', 'Tier teams: rerank requests'),
  teamsRequestsPerMinute: optionalLimit('requests/minute', 'Tier teams: requests of any kind'),
  teamsQueriesPerMinute: optionalLimit('queries/minute', 'Tier teams: queries'),
  teamsDocumentBytesPerMinute: optionalLimit('bytes/minute', 'Tier teams: raw bytes of received documents'),
  teamsDocumentsMax: optionalLimit('documents', 'Tier teams: stored documents'),
  teamsStorageBytesMax: optionalLimit('bytes', 'Tier teams: raw bytes of stored documents'),
  teamsIngestDocumentsMax: optionalLimit('documents', 'Tier teams: documents in the ingest queue'),
} satisfies Record<string, Setting>;

import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import type { DirectorySettings, SourceInfo, SourceKind } from '../schemas/sources.ts';
import type { SourceActivity } from '../sources/source-scheduler.ts';
import {
  type SourceCounts,
  type SourceRecord,
  type SourceState,
  timeZoneDefault,
} from '../storage/sources.ts';

interface SourceInfoInput {
  readonly state: SourceState;
  readonly activity: SourceActivity;
  readonly collectionName: string | null;
}

/** Describes a source for replies; never contains its credentials. */
export function toSourceInfo(
  record: SourceRecord,
  { state, activity, collectionName }: SourceInfoInput,
): SourceInfo {
  const { kind, settings } = record;
  const { run, watchError, nextAt } = activity;
  const { lastRun } = state;
  return {
    source_name: record.name,
    collection_name: collectionName,
    kind: kind as SourceKind,
    [kind]: settings as DirectorySettings,
    prefix: record.prefix,
    schedule: record.schedule,
    time_zone: record.timeZone ?? timeZoneDefault,
    watch: record.isWatched,
    watch_error: watchError,
    metadata: record.metadata,
    has_credentials: record.credentials !== null,
    state: stateOf(record, activity),
    running: run && { started_at: toTimestamp(run.startedAt), counts: toCounts(run.counts) },
    last_run: lastRun && {
      started_at: toTimestamp(lastRun.startedAt),
      ended_at: toTimestamp(lastRun.endedAt),
      outcome: lastRun.outcome,
      error: lastRun.error,
      counts: toCounts(lastRun.counts),
    },
    last_success_at: toOptionalTimestamp(state.lastSuccessAt),
    next_run_at: toOptionalTimestamp(nextAt),
    created_at: toTimestamp(record.createdAt),
  };
}

function stateOf(
  { removal, isPaused }: SourceRecord,
  { run, isQueued }: SourceActivity,
): SourceInfo['state'] {
  if (removal !== undefined) return 'deleting';
  if (run !== null) return 'running';
  if (isPaused) return 'paused';
  return isQueued ? 'queued' : 'idle';
}

function toCounts({ added, updated, deleted, unchanged, failed }: SourceCounts): SourceCounts {
  return { added, updated, deleted, unchanged, failed };
}

import { Chip, type ChipTone } from '../../components/chip.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { formatCount } from '../../format/numbers.ts';
import type { RunCounts, SourceInfo } from '../../server/sources.ts';

type LastRun = NonNullable<SourceInfo['last_run']>;

const stateLabels: Readonly<Record<SourceInfo['state'], readonly [label: string, tone: ChipTone]>> = {
  idle: ['Idle', 'neutral'],
  queued: ['Queued', 'info'],
  running: ['Running', 'info'],
  paused: ['Paused', 'warning'],
  deleting: ['Being deleted', 'warning'],
};

const outcomeLabels: Readonly<Record<LastRun['outcome'], readonly [label: string, tone: ChipTone]>> = {
  succeeded: ['Succeeded', 'good'],
  partial: ['Items failed', 'warning'],
  failed: ['Failed', 'bad'],
  interrupted: ['Interrupted', 'neutral'],
};

export function SourceState({ source }: { readonly source: SourceInfo }) {
  const [label, tone] = stateLabels[source.state];
  return <Chip tone={tone}>{label}</Chip>;
}

/** Outcome and time of the last run. */
export function LastRunCell({ run }: { readonly run: SourceInfo['last_run'] }) {
  if (run === null) return <span class="hint">Never</span>;
  const [label, tone] = outcomeLabels[run.outcome];
  return (
    <span class="user-cell">
      <span>
        <Chip tone={tone}>{label}</Chip>
      </span>
      <span class="hint">
        <RelativeTime at={run.ended_at} />
      </span>
    </span>
  );
}

export function NextRunCell({ source: { next_run_at: next, watch } }: { readonly source: SourceInfo }) {
  if (next !== null) return <RelativeTime at={next} />;
  return <span class="hint">{watch ? 'After a change' : 'Not scheduled'}</span>;
}

/** "12 added, 1 failed"; "No changes" if all counts but the unchanged items are zero. */
export function describeCounts(counts: RunCounts): string {
  const parts = (['added', 'updated', 'deleted', 'failed'] as const)
    .filter((name) => counts[name] > 0)
    .map((name) => `${formatCount(counts[name])} ${name}`);
  return parts.length === 0 ? 'No changes' : parts.join(', ');
}

/** Counts of the current run, else of the last one; null before the first. */
export function currentCounts({ running, last_run: last }: SourceInfo): RunCounts | null {
  return running?.counts ?? last?.counts ?? null;
}

/** Whether the state changes soon, without an action of the user. */
export function isBusy({ state }: SourceInfo): boolean {
  return state === 'queued' || state === 'running' || state === 'deleting';
}

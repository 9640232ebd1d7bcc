import { Chip, type ChipTone } from '../../components/chip.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import type { RunCounts, SourceInfo } from '../../server/sources.ts';
import { texts } from '../../texts/en/sources.ts';
import { counted } from '../../texts/format-text.ts';

type LastRun = NonNullable<SourceInfo['last_run']>;

const stateLabels: Readonly<Record<SourceInfo['state'], readonly [label: string, tone: ChipTone]>> = {
  idle: [texts.idle, 'neutral'],
  queued: [texts.queued, 'info'],
  running: [texts.running, 'info'],
  paused: [texts.paused, 'warning'],
  deleting: [texts.beingDeleted, 'warning'],
};

const outcomeLabels: Readonly<Record<LastRun['outcome'], readonly [label: string, tone: ChipTone]>> = {
  succeeded: [texts.succeeded, 'good'],
  partial: [texts.itemsFailed, 'warning'],
  failed: [texts.failed, 'bad'],
  interrupted: [texts.interrupted, 'neutral'],
};

export function SourceState({ source }: { readonly source: SourceInfo }) {
  const [label, tone] = stateLabels[source.state];
  return <Chip tone={tone}>{label}</Chip>;
}

/** Outcome and time of the last run. */
export function LastRunCell({ run }: { readonly run: SourceInfo['last_run'] }) {
  if (run === null) return <span class="hint">{texts.never}</span>;
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
  return <span class="hint">{watch ? texts.afterAChange : texts.notScheduled}</span>;
}

/** "12 added, 1 failed"; "No changes" if all counts but the unchanged items are zero. */
export function describeCounts(counts: RunCounts): string {
  const parts = [
    counts.added > 0 && counted(texts.countAdded, counts.added),
    counts.updated > 0 && counted(texts.countUpdated, counts.updated),
    counts.deleted > 0 && counted(texts.countDeleted, counts.deleted),
    counts.failed > 0 && counted(texts.countFailed, counts.failed),
  ].filter((part) => part !== false);
  return parts.length === 0 ? texts.noChanges : parts.join(', ');
}

/** Counts of the current run, else of the last one; null before the first. */
export function currentCounts({ running, last_run: last }: SourceInfo): RunCounts | null {
  return running?.counts ?? last?.counts ?? null;
}

/** Whether the state changes soon, without an action of the user. */
export function isBusy({ state }: SourceInfo): boolean {
  return state === 'queued' || state === 'running' || state === 'deleting';
}

import { Button } from '../../components/button.tsx';
import { Chip, type ChipTone } from '../../components/chip.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatCount } from '../../format/numbers.ts';
import { useLoad } from '../../server/load.ts';
import { previewSource, type SourcePreview, syncSource, updateSource } from '../../server/sources.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/sources.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import type { PendingStart } from './source-form.tsx';
import { describeCounts } from './source-status.tsx';

type PlannedChange = SourcePreview['changes'][number];

/** Rows of the list; the counts include the others. */
const shownMax = 200;

const actions: Readonly<Record<PlannedChange['action'], readonly [label: string, tone: ChipTone]>> = {
  add: [texts.add, 'good'],
  update: [texts.update, 'info'],
  delete: [texts.delete, 'warning'],
  fail: [texts.fails, 'bad'],
};

interface DryRunDialogProps {
  readonly name: string;
  /** Options of a new source that waits for its first run; null for others. */
  readonly pending: PendingStart | null;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}

/** Shows what a run would change, and starts it on request. */
export function DryRunDialog({ name, pending, onClose, onStarted }: DryRunDialogProps) {
  const preview = useLoad((abort) => previewSource(name, abort), []);
  const start = useAsyncAction(async () => {
    if (pending !== null) await updateSource({ source_name: name, ...toOptions(pending) });
    await syncSource(name);
    showToast(fill(texts.nameRunsNow, { name }));
    onStarted();
    onClose();
  });
  return (
    <Dialog title={fill(texts.dryRunOfName, { name })} onClose={onClose} mayClose={!start.isBusy}>
      {preview.data === undefined ? (
        preview.error === null ? (
          <>
            <p class="hint">{texts.theOriginIsListedNothing}</p>
            <SkeletonRows rows={3} />
          </>
        ) : (
          <ErrorMessage error={preview.error} />
        )
      ) : (
        <Preview preview={preview.data} />
      )}
      {pending !== null && (
        <p class="hint">
          {pending.schedule === 'off' ? texts.theSourceDoesNotRun : texts.theSourceDoesNotRunYet}
        </p>
      )}
      <DialogActions error={start.error}>
        <Button onClick={onClose} disabled={start.isBusy}>
          {texts.close}
        </Button>
        {preview.error !== null && !preview.isLoading && (
          <Button onClick={preview.reload}>{texts.retry}</Button>
        )}
        <Button
          tone="primary"
          busy={start.isBusy}
          disabled={preview.data === undefined}
          onClick={start.start}
        >
          {texts.runNow}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function toOptions({ schedule, isWatched }: PendingStart) {
  return { schedule, ...(isWatched ? { watch: true } : {}) };
}

function Preview({ preview }: { readonly preview: SourcePreview }) {
  const { counts, changes, is_complete: isComplete } = preview;
  const all = counts.added + counts.updated + counts.deleted + counts.failed;
  // Failures first: they need an action.
  const isFailure = ({ action }: PlannedChange) => action === 'fail';
  const sorted = [...changes.filter(isFailure), ...changes.filter((change) => !isFailure(change))];
  const shown = sorted.slice(0, shownMax);
  return (
    <>
      <p>
        {rich(texts.aRunWouldMakeThese, { counts: <strong>{describeCounts(counts)}</strong> })}
        {counts.unchanged > 0 && counted(texts.countUnchanged, counts.unchanged)}
      </p>
      {!isComplete && <p class="note warning">{texts.theOriginWasNotListed}</p>}
      {shown.length > 0 && (
        <div class="planned-changes" tabIndex={0} role="group" aria-label={texts.changes}>
          <ul>
            {shown.map((change) => (
              <PlannedChangeRow key={`${change.action} ${change.key}`} change={change} />
            ))}
          </ul>
        </div>
      )}
      {all > shown.length && (
        <p class="hint">{fill(texts.allMore, { all: formatCount(all - shown.length) })}</p>
      )}
    </>
  );
}

function PlannedChangeRow({ change: { action, path, error } }: { readonly change: PlannedChange }) {
  const [label, tone] = actions[action];
  return (
    <li>
      <span class="user-cell">
        <span>{path}</span>
        {error !== null && <span class="hint">{error}</span>}
      </span>
      <Chip tone={tone}>{label}</Chip>
    </li>
  );
}

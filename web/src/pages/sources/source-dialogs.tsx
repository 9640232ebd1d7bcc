import { useState } from 'preact/hooks';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Menu } from '../../components/menu.tsx';
import { showToast } from '../../components/toasts.tsx';
import { errorMessage } from '../../server/api-call.ts';
import {
  deleteSource,
  pauseSource,
  resumeSource,
  type SourceInfo,
  syncSource,
} from '../../server/sources.ts';
import { Icon } from '../../shell/icons.tsx';
import { texts } from '../../texts/en/sources.ts';
import { fill } from '../../texts/format-text.ts';
import { DryRunDialog } from './dry-run-dialog.tsx';
import { type PendingStart, SourceForm } from './source-form.tsx';

export type SourceDialog =
  | { readonly kind: 'preview'; readonly name: string; readonly pending: PendingStart | null }
  | { readonly kind: 'edit' | 'delete' | 'empty'; readonly source: SourceInfo };

interface SourceDialogsProps {
  readonly dialog: SourceDialog;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** The open dialog of the pages of sources. */
export function SourceDialogs({ dialog, onClose, onChanged }: SourceDialogsProps) {
  switch (dialog.kind) {
    case 'preview': {
      const { name, pending } = dialog;
      return <DryRunDialog name={name} pending={pending} onClose={onClose} onStarted={onChanged} />;
    }
    case 'edit':
      return (
        <SourceForm
          before={dialog.source}
          collections={[]}
          onClose={onClose}
          onDone={() => {
            showToast(fill(texts.sourceNameWasUpdated, { sourceName: dialog.source.source_name }));
            onChanged();
            onClose();
          }}
        />
      );
    case 'empty':
      return (
        <ConfirmDialog
          title={fill(texts.runSourceNameEvenIfIts, { sourceName: dialog.source.source_name })}
          action={texts.run}
          onClose={onClose}
          onConfirm={async () => {
            await syncSource(dialog.source.source_name, { allowEmpty: true });
            onChanged();
          }}
        >
          <p>{texts.ifTheOriginIsEmpty}</p>
        </ConfirmDialog>
      );
    case 'delete':
      return <DeleteDialog source={dialog.source} onClose={onClose} onChanged={onChanged} />;
  }
}

interface DeleteDialogProps extends Omit<SourceDialogsProps, 'dialog'> {
  readonly source: SourceInfo;
}

function DeleteDialog({ source, onClose, onChanged }: DeleteDialogProps) {
  const [deletesDocuments, setDeletesDocuments] = useState(false);
  return (
    <ConfirmDialog
      title={fill(texts.deleteSourceName, { sourceName: source.source_name })}
      action={texts.deleteSource}
      onClose={onClose}
      onConfirm={async () => {
        await deleteSource(source.source_name, deletesDocuments);
        showToast(fill(texts.sourceNameIsDeleted, { sourceName: source.source_name }));
        onChanged();
      }}
    >
      <p>{texts.theCollectionNoLongerFollows}</p>
      <Checkbox
        label={texts.deleteTheDocumentsOfThe}
        checked={deletesDocuments}
        onChange={setDeletesDocuments}
      />
    </ConfirmDialog>
  );
}

/** Runs an action of a button and shows its outcome. */
export async function perform(
  action: Promise<unknown>,
  message: string,
  onChanged: () => void,
): Promise<void> {
  try {
    await action;
    showToast(message);
    onChanged();
  } catch (error) {
    showToast(errorMessage(error), 'bad');
  }
}

interface SourceMenuProps {
  readonly source: SourceInfo;
  readonly onOpenDialog: (dialog: SourceDialog) => void;
  readonly onChanged: () => void;
}

export function SourceMenu({ source, onOpenDialog, onChanged }: SourceMenuProps) {
  const { source_name: name, state } = source;
  const isPaused = state === 'paused';
  if (state === 'deleting') return null;
  return (
    <Menu class="at-end" name={fill(texts.actionsForName, { name })} label={<Icon name="more" />}>
      <ul>
        <li>
          <button
            type="button"
            disabled={isPaused}
            onClick={() => void perform(syncSource(name), fill(texts.nameRunsNow, { name }), onChanged)}
          >
            {texts.runNow}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => onOpenDialog({ kind: 'preview', name, pending: null })}>
            {texts.dryRun}
          </button>
        </li>
        <li>
          <button type="button" disabled={isPaused} onClick={() => onOpenDialog({ kind: 'empty', source })}>
            {texts.runEvenIfEmpty}
          </button>
        </li>
        <li>
          <button
            type="button"
            onClick={() =>
              void (isPaused
                ? perform(resumeSource(name), fill(texts.nameWasResumed, { name }), onChanged)
                : perform(pauseSource(name), fill(texts.nameWasPaused, { name }), onChanged))
            }
          >
            {isPaused ? texts.resume : texts.pause}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => onOpenDialog({ kind: 'edit', source })}>
            {texts.edit}
          </button>
        </li>
        <li class="apart">
          <button type="button" class="danger" onClick={() => onOpenDialog({ kind: 'delete', source })}>
            {texts.delete2}
          </button>
        </li>
      </ul>
    </Menu>
  );
}

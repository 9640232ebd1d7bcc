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
            showToast(`${dialog.source.source_name} was updated.`);
            onChanged();
            onClose();
          }}
        />
      );
    case 'empty':
      return (
        <ConfirmDialog
          title={`Run ${dialog.source.source_name}, even if its origin is empty?`}
          action="Run"
          onClose={onClose}
          onConfirm={async () => {
            await syncSource(dialog.source.source_name, { allowEmpty: true });
            onChanged();
          }}
        >
          <p>
            If the origin is empty, for example because a disk is not mounted, all documents of the source are
            deleted. Other runs fail instead.
          </p>
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
      title={`Delete ${source.source_name}?`}
      action="Delete source"
      onClose={onClose}
      onConfirm={async () => {
        await deleteSource(source.source_name, deletesDocuments);
        showToast(`${source.source_name} is deleted.`);
        onChanged();
      }}
    >
      <p>The collection no longer follows the origin. The origin is not changed.</p>
      <Checkbox
        label="Delete the documents of the source, too"
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
    <Menu class="at-end" name={`Actions for ${name}`} label={<Icon name="more" />}>
      <ul>
        <li>
          <button
            type="button"
            disabled={isPaused}
            onClick={() => void perform(syncSource(name), `${name} runs now.`, onChanged)}
          >
            Run now
          </button>
        </li>
        <li>
          <button type="button" onClick={() => onOpenDialog({ kind: 'preview', name, pending: null })}>
            Dry run…
          </button>
        </li>
        <li>
          <button type="button" disabled={isPaused} onClick={() => onOpenDialog({ kind: 'empty', source })}>
            Run, even if empty…
          </button>
        </li>
        <li>
          <button
            type="button"
            onClick={() =>
              void (isPaused
                ? perform(resumeSource(name), `${name} was resumed.`, onChanged)
                : perform(pauseSource(name), `${name} was paused.`, onChanged))
            }
          >
            {isPaused ? 'Resume' : 'Pause'}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => onOpenDialog({ kind: 'edit', source })}>
            Edit…
          </button>
        </li>
        <li class="apart">
          <button type="button" class="danger" onClick={() => onOpenDialog({ kind: 'delete', source })}>
            Delete…
          </button>
        </li>
      </ul>
    </Menu>
  );
}

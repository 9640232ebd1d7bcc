import { signal } from '@preact/signals';

/**
 * Open modal dialogs, the one on top last. Only that one is visible: a dialog that opens another one is replaced by it
 * until the other one closes.
 */
export const openDialogs = signal<readonly HTMLDialogElement[]>([]);

/** Opens a dialog on top of the others. Returns a function that closes it. */
export function openDialog(dialog: HTMLDialogElement): () => void {
  const below = openDialogs.peek().at(-1);
  below?.toggleAttribute('data-covered', true);
  dialog.showModal();
  openDialogs.value = [...openDialogs.peek(), dialog];
  return () => {
    dialog.close();
    openDialogs.value = openDialogs.peek().filter((each) => each !== dialog);
    // A hidden element could not receive the focus.
    openDialogs.peek().at(-1)?.toggleAttribute('data-covered', false);
  };
}

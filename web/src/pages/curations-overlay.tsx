import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { lazyPart } from '../components/lazy-part.tsx';

/** Collection whose pinned and hidden results are edited; null while the dialog is closed. */
const edited = signal<string | null>(null);

const CurationsDialog = lazyPart<{ readonly collection: string; readonly onClose: () => void }>(() =>
  import('./curations-dialog.tsx').then((module) => module.CurationsDialog),
);

/** Opens the pinned and hidden results of a collection on a page with a `CurationsOverlay`. */
export function openCurations(collection: string): void {
  edited.value = collection;
}

function close(): void {
  edited.value = null;
}

/** The dialog while it is open. A page has it outside its forms. */
export function CurationsOverlay() {
  useEffect(() => close, []);
  return edited.value === null ? null : <CurationsDialog collection={edited.value} onClose={close} />;
}

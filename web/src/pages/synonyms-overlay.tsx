import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { lazyPart } from '../components/lazy-part.tsx';

/** Collection whose synonyms are edited; null while the dialog is closed. */
const edited = signal<string | null>(null);

const SynonymsDialog = lazyPart<{ readonly collection: string; readonly onClose: () => void }>(() =>
  import('./synonyms-dialog.tsx').then((module) => module.SynonymsDialog),
);

/** Opens the synonyms of a collection on a page with a `SynonymsOverlay`. */
export function openSynonyms(collection: string): void {
  edited.value = collection;
}

function close(): void {
  edited.value = null;
}

/** The dialog while it is open. A page has it outside its forms. */
export function SynonymsOverlay() {
  useEffect(() => close, []);
  return edited.value === null ? null : <SynonymsDialog collection={edited.value} onClose={close} />;
}

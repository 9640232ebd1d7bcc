import { signal } from '@preact/signals';

/** Number of changes of synonyms; components that show synonyms load them again when it changes. */
export const synonymChanges = signal(0);

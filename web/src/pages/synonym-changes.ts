import { signal } from '@preact/signals';

/** Number of changes of synonyms, so that figures of them are loaded again. */
export const synonymChanges = signal(0);

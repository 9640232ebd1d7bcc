import { signal } from '@preact/signals';

/** Number of changes of words and rules of collections; components that show them load them again when it changes. */
export const collectionChanges = signal(0);

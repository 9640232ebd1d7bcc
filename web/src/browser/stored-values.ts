export type StorageName = 'localStorage' | 'sessionStorage';

/** Returns a value of the browser's storage; null without one, and if storage is disabled. */
export function readStored(store: StorageName, key: string): string | null {
  try {
    return window[store].getItem(key);
  } catch {
    return null; // no feature depends on storage
  }
}

export function writeStored(store: StorageName, key: string, value: string | null): void {
  try {
    if (value === null) window[store].removeItem(key);
    else window[store].setItem(key, value);
  } catch {
    // Storage is disabled or full: the next visit starts without the value.
  }
}

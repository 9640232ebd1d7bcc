import { effect, type Signal, signal } from '@preact/signals';

/** Who shares a word: all tabs of the browser, or none, so that each tab goes on with its own. */
type StorageScope = 'browser' | 'tab';

/**
 * A word that the browser keeps from one visit to the next, where it keeps anything; null when it has none. A new tab
 * begins with the newest one.
 */
export function persistedSignal(name: string, scope: StorageScope = 'browser'): Signal<string | null> {
  const key = `quarry.${name}`;
  const tabValue = scope === 'tab' ? read('sessionStorage', key) : null;
  const stored = signal(tabValue ?? read('localStorage', key));
  effect(() => {
    write('localStorage', key, stored.value);
    if (scope === 'tab') write('sessionStorage', key, stored.value);
  });
  if (scope === 'browser')
    window.addEventListener('storage', (event) => {
      if (event.key === key) stored.value = event.newValue;
    });
  return stored;
}

type StorageName = 'localStorage' | 'sessionStorage';

function read(store: StorageName, key: string): string | null {
  try {
    return window[store].getItem(key);
  } catch {
    return null; // storage that is turned off keeps nothing, and nothing depends on it
  }
}

function write(store: StorageName, key: string, value: string | null): void {
  try {
    if (value === null) window[store].removeItem(key);
    else window[store].setItem(key, value);
  } catch {
    // Turned off or full: the next visit starts without it.
  }
}

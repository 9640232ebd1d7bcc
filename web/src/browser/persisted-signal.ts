import { effect, type Signal, signal } from '@preact/signals';

/** `browser`: all tabs share one value. `tab`: each tab keeps its own value. */
type StorageScope = 'browser' | 'tab';

/**
 * Signal whose value persists in the browser's storage between visits, if storage is available; null without
 * a value. A new tab starts with the most recent value.
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
    return null; // storage is disabled; no feature depends on it
  }
}

function write(store: StorageName, key: string, value: string | null): void {
  try {
    if (value === null) window[store].removeItem(key);
    else window[store].setItem(key, value);
  } catch {
    // Storage is disabled or full: the next visit starts without the value.
  }
}

import { effect, type Signal, signal } from '@preact/signals';
import { readStored, writeStored } from './stored-values.ts';

/** `browser`: all tabs share one value. `tab`: each tab keeps its own value. */
type StorageScope = 'browser' | 'tab';

/**
 * Signal whose value persists in the browser's storage between visits, if storage is available; null without
 * a value. A new tab starts with the most recent value.
 */
export function persistedSignal(name: string, scope: StorageScope = 'browser'): Signal<string | null> {
  const key = `quarry.${name}`;
  const tabValue = scope === 'tab' ? readStored('sessionStorage', key) : null;
  const stored = signal(tabValue ?? readStored('localStorage', key));
  effect(() => {
    writeStored('localStorage', key, stored.value);
    if (scope === 'tab') writeStored('sessionStorage', key, stored.value);
  });
  if (scope === 'browser')
    window.addEventListener('storage', (event) => {
      if (event.key === key) stored.value = event.newValue;
    });
  return stored;
}

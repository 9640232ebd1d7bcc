import { effect, type Signal, signal } from '@preact/signals';

/** Who shares a word: all tabs of the browser, or none, so that each tab goes on with its own. */
type Reach = 'browser' | 'tab';

/**
 * A word that the browser keeps from one visit to the next, where it keeps anything; null when it has none. A new tab
 * begins with the newest one.
 */
export function kept(name: string, reach: Reach = 'browser'): Signal<string | null> {
  const key = `quarry.${name}`;
  const own = reach === 'tab' ? read('sessionStorage', key) : null;
  const word = signal(own ?? read('localStorage', key));
  effect(() => {
    write('localStorage', key, word.value);
    if (reach === 'tab') write('sessionStorage', key, word.value);
  });
  if (reach === 'browser')
    window.addEventListener('storage', (event) => {
      if (event.key === key) word.value = event.newValue;
    });
  return word;
}

type Store = 'localStorage' | 'sessionStorage';

function read(store: Store, key: string): string | null {
  try {
    return window[store].getItem(key);
  } catch {
    return null; // storage that is turned off keeps nothing, and nothing depends on it
  }
}

function write(store: Store, key: string, word: string | null): void {
  try {
    if (word === null) window[store].removeItem(key);
    else window[store].setItem(key, word);
  } catch {
    // Turned off or full: the next visit starts without it.
  }
}

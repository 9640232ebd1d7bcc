import { effect, type Signal, signal } from '@preact/signals';

/** A word that the browser keeps from one visit to the next, where it keeps anything; null when it has none. */
export function kept(name: string): Signal<string | null> {
  const key = `quarry.${name}`;
  const word = signal(read(key));
  effect(() => write(key, word.value));
  return word;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage that is turned off keeps nothing, and nothing depends on it
  }
}

function write(key: string, word: string | null): void {
  try {
    if (word === null) localStorage.removeItem(key);
    else localStorage.setItem(key, word);
  } catch {
    // Turned off or full: the next visit starts without it.
  }
}

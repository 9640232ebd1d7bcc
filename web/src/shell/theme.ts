import { effect } from '@preact/signals';
import { persistedSignal } from '../browser/persisted-signal.ts';

export type Theme = 'auto' | 'light' | 'dark';

const chosenTheme = persistedSignal('theme');

export function currentTheme(): Theme {
  return chosenTheme.value === 'light' || chosenTheme.value === 'dark' ? chosenTheme.value : 'auto';
}

export function setTheme(newTheme: Theme): void {
  chosenTheme.value = newTheme === 'auto' ? null : newTheme;
}

/** Applies the selected theme to the page. Without a selection, the style sheet follows the system. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = currentTheme();
  });
}

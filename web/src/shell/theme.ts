import { effect } from '@preact/signals';
import { kept } from '../browser/kept.ts';

export type Theme = 'auto' | 'light' | 'dark';

const chosen = kept('theme');

export function theme(): Theme {
  return chosen.value === 'light' || chosen.value === 'dark' ? chosen.value : 'auto';
}

export function chooseTheme(wanted: Theme): void {
  chosen.value = wanted === 'auto' ? null : wanted;
}

/** Keeps the page in the chosen theme; the style sheet follows the system where none was chosen. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme();
  });
}

import { type ReadonlySignal, signal } from '@preact/signals';

/** Whether a media query holds just now. */
export function media(query: string): ReadonlySignal<boolean> {
  const list = window.matchMedia(query);
  const holds = signal(list.matches);
  list.addEventListener('change', (event) => {
    holds.value = event.matches;
  });
  return holds;
}

/** Too narrow for the columns of a long list: a row has two lines. */
export const isNarrow = media('(max-width: 44rem)');
/** Too narrow for two parts of a page beside each other. */
export const isOneColumn = media('(max-width: 52rem)');
/** Too narrow for a page beside the navigation, which is folded away. */
export const isFolded = media('(max-width: 64rem)');

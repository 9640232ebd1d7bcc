import { type ReadonlySignal, signal } from '@preact/signals';

/** Whether a media query matches now. */
export function mediaQuery(query: string): ReadonlySignal<boolean> {
  const list = window.matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', (event) => {
    matches.value = event.matches;
  });
  return matches;
}

/** Too narrow for the columns of a long list: a row has two lines. */
export const isNarrow = mediaQuery('(max-width: 44rem)');
/** Too narrow for two parts of a page side by side. */
export const isSingleColumn = mediaQuery('(max-width: 52rem)');
/** Too narrow for a page next to the navigation, which is collapsed. */
export const isNavigationCollapsed = mediaQuery('(max-width: 64rem)');

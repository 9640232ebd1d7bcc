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

/** Too narrow for a table beside the navigation. */
export const isNarrow = media('(max-width: 44rem)');

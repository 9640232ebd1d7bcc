import { signal } from '@preact/signals';

interface Toast {
  readonly id: number;
  readonly words: string;
  readonly tone: 'good' | 'bad';
}

const toasts = signal<readonly Toast[]>([]);
const shownMs = { good: 5_000, bad: 12_000 } as const;
const toastsMax = 4;
let last = 0;

/** Says that something was done, or that it failed, without taking the focus. */
export function toast(words: string, tone: Toast['tone'] = 'good'): void {
  last += 1;
  const made = { id: last, words, tone };
  toasts.value = [...toasts.value.slice(1 - toastsMax), made];
  setTimeout(() => dismiss(made.id), shownMs[tone]);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <section class="toasts" aria-label="Messages" aria-live="polite">
      {toasts.value.map(({ id, words, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          <span>{words}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <span aria-hidden="true">×</span>
          </button>
        </div>
      ))}
    </section>
  );
}

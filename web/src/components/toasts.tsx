import { signal } from '@preact/signals';
import { texts } from '../texts/en/components.ts';

interface Toast {
  readonly id: number;
  readonly message: string;
  readonly tone: 'good' | 'bad';
}

const toasts = signal<readonly Toast[]>([]);
const shownMs = { good: 5_000, bad: 12_000 } as const;
const toastsMax = 4;
let lastId = 0;

/** Shows a message about success or failure without moving the focus. */
export function showToast(message: string, tone: Toast['tone'] = 'good'): void {
  lastId += 1;
  const created = { id: lastId, message, tone };
  toasts.value = [...toasts.value.slice(1 - toastsMax), created];
  setTimeout(() => dismiss(created.id), shownMs[tone]);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <section class="toasts" aria-label={texts.notifications} aria-live="polite">
      {toasts.value.map(({ id, message, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          <span>{message}</span>
          <button type="button" class="icon-button" aria-label={texts.dismiss} onClick={() => dismiss(id)}>
            <span aria-hidden="true">×</span>
          </button>
        </div>
      ))}
    </section>
  );
}

import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { texts } from '../texts/en/components.ts';
import { openDialogs } from './open-dialogs.ts';

interface Toast {
  readonly id: number;
  readonly message: string;
  readonly tone: 'good' | 'bad';
  readonly topic: string;
}

const toasts = signal<readonly Toast[]>([]);
/** Topic of messages about the plan: a later state of it makes the earlier message wrong. */
export const planTopic = { topic: 'plan' } as const;

const shownMs = { good: 5_000, bad: 12_000 } as const;
const toastsMax = 3;
let lastId = 0;

/**
 * Shows a message about success or failure without moving the focus. It replaces the one about the same topic: by
 * default, the message with the same text.
 */
export function showToast(
  message: string,
  tone: Toast['tone'] = 'good',
  { topic = message }: { readonly topic?: string } = {},
): void {
  lastId += 1;
  const created = { id: lastId, message, tone, topic };
  const others = toasts.value.filter((each) => each.topic !== topic);
  toasts.value = [created, ...others].slice(0, toastsMax);
  setTimeout(() => dismiss(created.id), shownMs[tone]);
}

/** Removes the messages about success: a dialog that opens needs their place. */
export function dismissGoodToasts(): void {
  toasts.value = toasts.value.filter(({ tone }) => tone === 'bad');
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

/**
 * The messages, newest first. Everything outside the dialog on top is covered and disabled, so that dialog shows them;
 * `place` is the dialog, undefined for the page.
 */
export function Toasts({ place }: { readonly place?: RefObject<HTMLDialogElement | null> }) {
  const top = openDialogs.value.at(-1) ?? null;
  const here = place === undefined ? null : place.current;
  if (top !== here || (place !== undefined && here === null)) return null;
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

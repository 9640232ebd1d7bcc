import type { ComponentChildren, TargetedMouseEvent } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/components.ts';
import { ErrorMessage, SharedFailures } from './error-message.tsx';
import { LoadScopeProvider } from './load-scope.tsx';
import { openDialog, openDialogs } from './open-dialogs.ts';
import { dismissGoodToasts, Toasts } from './toasts.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** False for a dialog that requires an answer. */
  readonly mayClose?: boolean;
  /** False to hide the title; screen readers still read it. */
  readonly hasHeader?: boolean;
  readonly children: ComponentChildren;
}

/**
 * Modal dialog, open while mounted. The browser traps the focus inside it. If another dialog is open, this one takes its
 * place and has a button that leads back to it.
 */
export function Dialog({ title, onClose, mayClose = true, hasHeader = true, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  /** Element that the browser focused; null once the initial focus is set. */
  const browserFocus = useRef<Element | null>(null);
  const [isAbove, setAbove] = useState(false);
  // In a layout effect: key presses between mounting and a later effect would be lost.
  useLayoutEffect(() => {
    const [dialogElement, previousFocus] = [dialog.current, document.activeElement];
    if (dialogElement === null) return;
    const isFirst = openDialogs.peek().length === 0;
    setAbove(!isFirst);
    if (isFirst) dismissGoodToasts();
    const close = openDialog(dialogElement);
    browserFocus.current = document.activeElement;
    return () => {
      close();
      // The browser restores the focus only if the element stays in the document after closing.
      if (previousFocus instanceof HTMLElement) previousFocus.focus();
    };
  }, []);
  // Runs on every render until the content that receives the focus has loaded.
  useLayoutEffect(() => {
    const initialFocus = browserFocus.current && findInitialFocus(dialog.current, mayClose);
    if (initialFocus === null) return;
    if (document.activeElement === browserFocus.current) initialFocus.focus();
    browserFocus.current = null;
  });
  return (
    <dialog
      ref={dialog}
      class={hasHeader ? 'dialog' : 'dialog palette'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (mayClose) onClose();
      }}
      // In dialogs with a form, a click outside is likely a mistake and is ignored.
      onMouseDown={(event) => {
        const { currentTarget, target, button } = event;
        if (!mayClose || button !== 0 || target !== currentTarget || !isOutside(event)) return;
        if (currentTarget.querySelector('form') !== null) return;
        // Prevents the browser from focusing the element below the pointer.
        event.preventDefault();
        onClose();
      }}
      // Browsers close the dialog on a second Escape even if the first one was prevented.
      onClose={() => {
        if (dialog.current === null) return;
        if (mayClose) onClose();
        else dialog.current.showModal();
      }}
    >
      <div class="dialog-inside">
        <header class={hasHeader ? '' : 'visually-hidden'}>
          <h2 id={id}>{title}</h2>
          {mayClose && hasHeader && <CloseButton isBack={isAbove} onClose={onClose} />}
        </header>
        <LoadScopeProvider name={title} kind="dialog">
          <SharedFailures />
          {children}
        </LoadScopeProvider>
      </div>
      <Toasts place={dialog} />
    </dialog>
  );
}

/** `isBack`: closing leads back to the dialog below. It is the same element for both, so that it keeps the focus. */
function CloseButton({ isBack, onClose }: { readonly isBack: boolean; readonly onClose: () => void }) {
  return (
    <button
      type="button"
      class={isBack ? 'icon-button back' : 'icon-button'}
      aria-label={isBack ? texts.back : texts.close}
      onClick={onClose}
    >
      {isBack ? <Icon name="previous" /> : <span aria-hidden="true">×</span>}
    </button>
  );
}

/**
 * Initial focus of a dialog, instead of the "×" button that comes first: its first field, else its first
 * button, which changes nothing, or for a dialog that requires an answer its primary button.
 */
function findInitialFocus(dialog: HTMLDialogElement | null, mayClose: boolean): HTMLElement | null {
  const findControl = (selector: string) =>
    dialog?.querySelector<HTMLElement>(`${selector}:not(:disabled)`) ?? null;
  return (
    findControl(':is(form, fieldset) :is(input, select, textarea)') ??
    findControl(mayClose ? '.dialog-actions .button' : '.dialog-actions .primary')
  );
}

/** Whether the pointer is on the backdrop, not on the dialog's border or scroll bar. */
function isOutside({ currentTarget, clientX, clientY }: TargetedMouseEvent<HTMLDialogElement>): boolean {
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

interface DialogActionsProps {
  /** Error of the action, shown above the buttons, where it stays visible when the dialog is scrolled. */
  readonly error?: unknown;
  readonly children: ComponentChildren;
}

/** Buttons at the end of a dialog. They stay visible when its content is scrolled. */
export function DialogActions({ error, children }: DialogActionsProps) {
  return (
    <footer class="dialog-end">
      <ErrorMessage error={error} />
      <div class="dialog-actions">{children}</div>
    </footer>
  );
}

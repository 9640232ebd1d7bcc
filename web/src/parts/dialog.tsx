import type { ComponentChildren, TargetedMouseEvent } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** False for a dialog that must be answered. */
  readonly mayClose?: boolean;
  readonly children: ComponentChildren;
}

/** A dialog that is open as long as it is there; the browser keeps the focus inside it and gives it back. */
export function Dialog({ title, onClose, mayClose = true, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  /** What the browser chose; null when somebody has been where they go on. */
  const browserFocus = useRef<Element | null>(null);
  // Not after the next picture: keys that are pressed until then would be lost.
  useLayoutEffect(() => {
    const [dialogElement, previousFocus] = [dialog.current, document.activeElement];
    dialogElement?.showModal();
    browserFocus.current = document.activeElement;
    return () => {
      dialogElement?.close();
      // The browser gives the focus back only to a dialog that outlives its closing.
      if (previousFocus instanceof HTMLElement) previousFocus.focus();
    };
  }, []);
  // What it is about may come late.
  useLayoutEffect(() => {
    const initialFocus = browserFocus.current && findInitialFocus(dialog.current, mayClose);
    if (initialFocus === null) return;
    if (document.activeElement === browserFocus.current) initialFocus.focus();
    browserFocus.current = null;
  });
  const cancel = (event: Event) => {
    event.preventDefault();
    if (mayClose) onClose();
  };
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={cancel}
      // Where something may have been typed, a click beside it is a slip.
      onMouseDown={(event) => {
        const { currentTarget, target, button } = event;
        if (!mayClose || button !== 0 || target !== currentTarget || !isOutside(event)) return;
        if (currentTarget.querySelector('form') !== null) return;
        // The browser would give the focus to what lies below the pointer.
        event.preventDefault();
        onClose();
      }}
      // The browser closes it at a second Escape, whatever the first one was told.
      onClose={() => {
        if (dialog.current === null) return;
        if (mayClose) onClose();
        else dialog.current.showModal();
      }}
    >
      <div class="dialog-inside">
        <header>
          <h2 id={id}>{title}</h2>
          {mayClose && (
            <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
              <span aria-hidden="true">×</span>
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}

/**
 * Where somebody goes on who opened it, not at the "×" that comes first: at its first field, else at the first of its
 * buttons, which changes nothing, or where it must be answered at its answer.
 */
function findInitialFocus(dialog: HTMLDialogElement | null, mayClose: boolean): HTMLElement | null {
  const findControl = (selector: string) =>
    dialog?.querySelector<HTMLElement>(`${selector}:not(:disabled)`) ?? null;
  return (
    findControl(':is(form, fieldset) :is(input, select, textarea)') ??
    findControl(mayClose ? '.dialog-actions .button' : '.dialog-actions .primary')
  );
}

/** Whether the pointer is on what lies behind the dialog, not on its edge or its scroll bar. */
function isOutside({ currentTarget, clientX, clientY }: TargetedMouseEvent<HTMLDialogElement>): boolean {
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

/** The buttons at the end of a dialog. */
export function DialogActions({ children }: { readonly children: ComponentChildren }) {
  return <footer class="dialog-actions">{children}</footer>;
}

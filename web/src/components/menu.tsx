import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface MenuProps {
  readonly label: ComponentChildren;
  /** Accessible name of the button if its label does not contain it. */
  readonly name?: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

const gapPixels = 4;

/**
 * A button that opens a list of actions as a popover. The browser closes it on Escape and on a click outside;
 * it also closes when an item is selected and when the page is scrolled.
 */
export function Menu({ label, name, class: kind = '', children }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const close = () => {
    if (panel.current?.matches(':popover-open')) panel.current.hidePopover();
  };
  useEffect(() => {
    window.addEventListener('scroll', close, { passive: true });
    return () => window.removeEventListener('scroll', close);
  }, []);
  useEffect(() => {
    const panelElement = panel.current;
    const positionBeforeOpen = (event: Event) => {
      const opens = event instanceof ToggleEvent && event.newState === 'open';
      if (opens && panelElement !== null && button.current !== null)
        positionPanel(panelElement, button.current.getBoundingClientRect());
    };
    const closeAfterChoice = (event: Event) => {
      if (event.target instanceof Element && event.target.closest('a, button') !== null) close();
    };
    panelElement?.addEventListener('beforetoggle', positionBeforeOpen);
    // In the capture phase, before the item's handler: a dialog that it opens must restore the focus to the
    // button, not to the hidden item.
    panelElement?.addEventListener('click', closeAfterChoice, { capture: true });
    return () => {
      panelElement?.removeEventListener('beforetoggle', positionBeforeOpen);
      panelElement?.removeEventListener('click', closeAfterChoice, { capture: true });
    };
  }, []);
  return (
    <div class={`menu ${kind}`}>
      <button ref={button} type="button" class="menu-button" aria-label={name} {...{ popovertarget: id }}>
        {label}
      </button>
      <div ref={panel} id={id} popover="auto" class="menu-panel">
        {children}
      </div>
    </div>
  );
}

/**
 * Places the panel below or above the button, where there is more space, aligned with the button's nearer side.
 */
function positionPanel(panel: HTMLElement, at: DOMRect): void {
  const { innerWidth, innerHeight } = window;
  const isLow = at.top > innerHeight / 2;
  const isRight = at.left > innerWidth / 2;
  panel.style.top = isLow ? 'auto' : `${at.bottom + gapPixels}px`;
  panel.style.bottom = isLow ? `${innerHeight - at.top + gapPixels}px` : 'auto';
  panel.style.left = isRight ? 'auto' : `${at.left}px`;
  panel.style.right = isRight ? `${document.documentElement.clientWidth - at.right}px` : 'auto';
}

import { useEffect, useRef } from 'preact/hooks';

/** Elements that use keys themselves. */
const keyUsers = 'input, textarea, select, [contenteditable], dialog, [popover]';

/** Whether a key press is free for a shortcut of the page: no text field, dialog or menu uses it. */
function isFree(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey)
    return false;
  if (document.querySelector('dialog[open], :popover-open') !== null) return false;
  return !(event.target instanceof Element && event.target.closest(keyUsers) !== null);
}

/** Handles keys while the component is shown. The handler returns true for a key that it used. */
export function useShortcuts(handle: (event: KeyboardEvent) => boolean): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (isFree(event) && latest.current(event)) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

/** Whether the focused element, or one around it, can still be scrolled in a direction by the browser. */
export function canScrollFocused(axis: 'x' | 'y', direction: 1 | -1): boolean {
  for (
    let each = document.activeElement;
    each !== null && each !== document.body;
    each = each.parentElement
  ) {
    const [position, size, content] =
      axis === 'x'
        ? [each.scrollLeft, each.clientWidth, each.scrollWidth]
        : [each.scrollTop, each.clientHeight, each.scrollHeight];
    const { overflowX, overflowY } = getComputedStyle(each);
    if ((axis === 'x' ? overflowX : overflowY) !== 'auto') continue;
    if (direction > 0 ? position + size < content - 1 : position > 0) return true;
  }
  return false;
}

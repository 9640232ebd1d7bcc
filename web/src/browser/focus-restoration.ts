/**
 * Moves the focus when its element is removed or disabled, such as the button of a deleted row, or "Next
 * page" on the last page: to the same element of the next row, else to the nearest remaining element of the
 * same group or before it, else to the heading of the page. The browser alone would drop the focus, and
 * screen readers would start again at the top of the page.
 */

const rowSelector = 'tr, li, .toast';
/** Groups of related elements: the focus stays within the nearest one if possible. */
const groupSelector = 'tr, li, dialog, form, .row';
const focusableSelector =
  ':is(a[href], button, input, select, textarea, summary, [tabindex]):not(:disabled, [tabindex="-1"])';

/** The focused element, and its position when it received the focus. */
interface FocusHolder {
  readonly element: HTMLElement;
  readonly row: { readonly list: Element; readonly position: number; readonly focusableIndex: number } | null;
  /** From the nearest group outward. */
  readonly groups: readonly Element[];
  /** Focusable elements of the page before it, in document order. */
  readonly precedingElements: readonly HTMLElement[];
}

export function restoreLostFocus(): void {
  let holder: FocusHolder | null = null;
  document.addEventListener('focusin', ({ target }) => {
    // Virtual rows are removed when they are scrolled out of view; that must not move the focus.
    const mayMove = target instanceof HTMLElement && target.closest('.virtual-row') === null;
    holder = mayMove ? describeHolder(target) : null;
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    // A click outside the element drops the focus on purpose. Whether the element is being removed is known
    // only after the current task.
    if (relatedTarget === null)
      queueMicrotask(() => {
        if (holder?.element === target && isFocusable(holder.element)) holder = null;
      });
  });
  new MutationObserver(() => {
    if (holder === null || isFocusable(holder.element)) return;
    const lost = holder;
    holder = null;
    const { activeElement } = document;
    if (activeElement === null || activeElement === document.body || activeElement === lost.element)
      findFallback(lost)?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}

function isFocusable(element: Element): boolean {
  return element.isConnected && !element.matches(':disabled');
}

function describeHolder(element: HTMLElement): FocusHolder {
  const ancestors: Element[] = [];
  for (let each = element.parentElement; each !== null; each = each.parentElement) ancestors.push(each);
  const page = focusableIn(element.closest('main'));
  return {
    element,
    row: describeRow(element),
    groups: ancestors.filter((each) => each.matches(groupSelector)),
    precedingElements: page.slice(0, Math.max(0, page.indexOf(element))),
  };
}

function describeRow(element: HTMLElement): FocusHolder['row'] {
  const row = element.closest(rowSelector);
  const list = row?.parentElement ?? null;
  if (row === null || list === null) return null;
  return {
    list,
    position: [...list.children].indexOf(row),
    focusableIndex: focusableIn(row).indexOf(element),
  };
}

function findFallback({ row, groups, precedingElements }: FocusHolder): HTMLElement | null {
  if (row?.list.isConnected === true) {
    const next = focusableIn(row.list.children[row.position] ?? row.list.lastElementChild);
    const same = next[row.focusableIndex] ?? next.at(-1);
    if (same !== undefined) return same;
  }
  for (const group of groups) {
    const [first] = group.isConnected ? focusableIn(group) : [];
    if (first !== undefined) return first;
  }
  return precedingElements.findLast(isFocusable) ?? document.querySelector('h1');
}

function focusableIn(container: Element | null): HTMLElement[] {
  const found = container?.querySelectorAll<HTMLElement>(focusableSelector) ?? [];
  return [...found].filter((each) => each.checkVisibility());
}

/**
 * Where the focus goes when what had it is gone or cannot have it any more, as the button of a row that was deleted, or
 * "Next page" on the last one: to the same of the next row, else to what is left beside it or before it, else to the
 * heading of the page. Left to the browser it would be nowhere, and who hears the page would begin it again.
 */

const rowSelector = 'tr, li, .toast';
/** What belongs together, so that somebody who is taken from one to another is still where they were. */
const groupSelector = 'tr, li, dialog, form, .row';
const focusableSelector =
  ':is(a[href], button, input, select, textarea, summary, [tabindex]):not(:disabled, [tabindex="-1"])';

/** What has the focus, and where it stood when it got it. */
interface FocusHolder {
  readonly element: HTMLElement;
  readonly row: { readonly list: Element; readonly position: number; readonly focusableIndex: number } | null;
  /** From the nearest one outwards. */
  readonly groups: readonly Element[];
  /** Of its page, in their order. */
  readonly precedingElements: readonly HTMLElement[];
}

export function restoreLostFocus(): void {
  let holder: FocusHolder | null = null;
  document.addEventListener('focusin', ({ target }) => {
    // A row of thousands goes when it is scrolled out of sight; who scrolls is taken nowhere else.
    const mayMove = target instanceof HTMLElement && target.closest('.virtual-row') === null;
    holder = mayMove ? describeHolder(target) : null;
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    // Who clicks beside it wants it nowhere. Whether it is being removed is known when this task is over.
    if (relatedTarget === null)
      queueMicrotask(() => {
        if (holder?.element === target && isFocusable(holder.element)) holder = null;
      });
  });
  new MutationObserver(() => {
    if (holder === null || isFocusable(holder.element)) return;
    const lost = holder;
    holder = null;
    const { activeElement: has } = document;
    if (has === null || has === document.body || has === lost.element)
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

function findFallback({ row, groups: ancestors, precedingElements }: FocusHolder): HTMLElement | null {
  if (row?.list.isConnected === true) {
    const next = focusableIn(row.list.children[row.position] ?? row.list.lastElementChild);
    const same = next[row.focusableIndex] ?? next.at(-1);
    if (same !== undefined) return same;
  }
  for (const group of ancestors) {
    const [first] = group.isConnected ? focusableIn(group) : [];
    if (first !== undefined) return first;
  }
  return precedingElements.findLast(isFocusable) ?? document.querySelector('h1');
}

function focusableIn(container: Element | null): HTMLElement[] {
  const found = container?.querySelectorAll<HTMLElement>(focusableSelector) ?? [];
  return [...found].filter((each) => each.checkVisibility());
}

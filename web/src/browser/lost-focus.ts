/**
 * Where the focus goes when what had it is gone or cannot have it any more, as the button of a row that was deleted, or
 * "Next page" on the last one: to the same of the next row, else to what is left beside it or before it, else to the
 * heading of the page. Left to the browser it would be nowhere, and who hears the page would begin it again.
 */

const rows = 'tr, li, .toast';
/** What belongs together, so that somebody who is taken from one to another is still where they were. */
const groups = 'tr, li, dialog, form, .row';
const takers =
  ':is(a[href], button, input, select, textarea, summary, [tabindex]):not(:disabled, [tabindex="-1"])';

/** What has the focus, and where it stood when it got it. */
interface Holder {
  readonly element: HTMLElement;
  readonly row: { readonly list: Element; readonly position: number; readonly taker: number } | null;
  /** From the nearest one outwards. */
  readonly groups: readonly Element[];
  /** Of its page, in their order. */
  readonly before: readonly HTMLElement[];
}

export function keepFocus(): void {
  let holder: Holder | null = null;
  document.addEventListener('focusin', ({ target }) => {
    // A row of thousands goes when it is scrolled out of sight; who scrolls is taken nowhere else.
    const mayMove = target instanceof HTMLElement && target.closest('.virtual-row') === null;
    holder = mayMove ? holderOf(target) : null;
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    // Who clicks beside it wants it nowhere. Whether it is being removed is known when this task is over.
    if (relatedTarget === null)
      queueMicrotask(() => {
        if (holder?.element === target && canTake(holder.element)) holder = null;
      });
  });
  new MutationObserver(() => {
    if (holder === null || canTake(holder.element)) return;
    const lost = holder;
    holder = null;
    const { activeElement: has } = document;
    if (has === null || has === document.body || has === lost.element)
      heirOf(lost)?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}

function canTake(element: Element): boolean {
  return element.isConnected && !element.matches(':disabled');
}

function holderOf(element: HTMLElement): Holder {
  const around: Element[] = [];
  for (let each = element.parentElement; each !== null; each = each.parentElement) around.push(each);
  const page = takersIn(element.closest('main'));
  return {
    element,
    row: rowOf(element),
    groups: around.filter((each) => each.matches(groups)),
    before: page.slice(0, Math.max(0, page.indexOf(element))),
  };
}

function rowOf(element: HTMLElement): Holder['row'] {
  const row = element.closest(rows);
  const list = row?.parentElement ?? null;
  if (row === null || list === null) return null;
  return { list, position: [...list.children].indexOf(row), taker: takersIn(row).indexOf(element) };
}

function heirOf({ row, groups: around, before }: Holder): HTMLElement | null {
  if (row?.list.isConnected === true) {
    const next = takersIn(row.list.children[row.position] ?? row.list.lastElementChild);
    const same = next[row.taker] ?? next.at(-1);
    if (same !== undefined) return same;
  }
  for (const group of around) {
    const [first] = group.isConnected ? takersIn(group) : [];
    if (first !== undefined) return first;
  }
  return before.findLast(canTake) ?? document.querySelector('h1');
}

function takersIn(place: Element | null): HTMLElement[] {
  const found = place?.querySelectorAll<HTMLElement>(takers) ?? [];
  return [...found].filter((each) => each.checkVisibility());
}

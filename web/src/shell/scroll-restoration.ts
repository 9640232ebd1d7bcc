/** Restores the scroll position of each page when going back, even if its content must be loaded again. */

const addressesMax = 100;
/** Maximum time to wait until a page reaches its former height; later changes do not scroll. */
const waitMs = 3_000;
/** User input cancels the restoration. */
const userInputEvents = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

export function restoreScroll(): void {
  const positions = new Map<string, number>();
  let target: number | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    target = null;
    clearTimeout(timer);
  };

  const savePosition = () => {
    if (target !== null) return;
    const { href } = window.location;
    positions.delete(href);
    positions.set(href, window.scrollY);
    const [oldest] = positions.keys();
    if (positions.size > addressesMax && oldest !== undefined) positions.delete(oldest);
  };
  const applyTarget = () => {
    if (target !== null) window.scrollTo(0, target);
  };

  window.addEventListener('scroll', savePosition, { passive: true });
  window.addEventListener('popstate', () => {
    stop();
    target = positions.get(window.location.href) ?? null;
    timer = setTimeout(stop, waitMs);
  });
  for (const eventName of userInputEvents) window.addEventListener(eventName, stop, { passive: true });
  new ResizeObserver(applyTarget).observe(document.body);
}

/** How far each page was scrolled: whoever goes back finds it so, also when what it shows has to be loaded again. */

const addressesMax = 100;
/** So long a page may take to get as long as it was; what comes later moves nothing. */
const waitMs = 3_000;
/** Whoever does something wants to be where they are. */
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

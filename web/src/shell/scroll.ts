/** How far each page was scrolled: whoever goes back finds it so, also when what it shows has to be loaded again. */

const addressesMax = 100;
/** So long a page may take to get as long as it was; what comes later moves nothing. */
const waitMs = 3_000;
/** Whoever does something wants to be where they are. */
const ownMoves = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

export function keepScroll(): void {
  const left = new Map<string, number>();
  let wanted: number | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    wanted = null;
    clearTimeout(timer);
  };

  const note = () => {
    if (wanted !== null) return;
    const { href } = window.location;
    left.delete(href);
    left.set(href, window.scrollY);
    const [oldest] = left.keys();
    if (left.size > addressesMax && oldest !== undefined) left.delete(oldest);
  };
  const goOn = () => {
    if (wanted !== null) window.scrollTo(0, wanted);
  };

  window.addEventListener('scroll', note, { passive: true });
  window.addEventListener('popstate', () => {
    stop();
    wanted = left.get(window.location.href) ?? null;
    timer = setTimeout(stop, waitMs);
  });
  for (const move of ownMoves) window.addEventListener(move, stop, { passive: true });
  new ResizeObserver(goOn).observe(document.body);
}

/**
 * Preloaded into a server (`node --import`) to shift its clock ahead of the machine's: initially by MOVED_CLOCK_MS
 * milliseconds, later by messages `{ aheadMs }`, each of which is acknowledged.
 */
const RealDate = Date;
let aheadMs = Number(process.env.MOVED_CLOCK_MS ?? 0);
const now = () => RealDate.now() + aheadMs;

class ShiftedDate extends RealDate {
  constructor(...parts: [] | [number | string]) {
    super(...((parts.length === 0 ? [now()] : parts) as [number]));
  }

  static override now(): number {
    return now();
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
// Waits measured on the monotonic clock elapse too.
const monotonic = performance.now.bind(performance);
performance.now = () => monotonic() + aheadMs;

process.on('message', (message: { readonly aheadMs?: unknown }) => {
  if (typeof message.aheadMs !== 'number') return;
  aheadMs = message.aheadMs;
  process.send?.({ aheadMs });
});
process.channel?.unref();

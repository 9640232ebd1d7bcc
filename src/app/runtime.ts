import { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { EventLoopScheduler } from '../core/async/event-loop-scheduler.ts';
import { systemClock } from '../core/clock.ts';
import { systemRandom } from '../core/ids.ts';
import { limits } from '../core/limits.ts';

/** Singletons that are passed to all components. */

/** Target of the redirects of `/` and of sign-in. */
export const home = '/app/';
export const clock = systemClock;
export const random = systemRandom;
export const backgroundScheduler = new BackgroundScheduler(clock);
export const scheduler = new EventLoopScheduler(clock);
/** Shares the main thread between scans of large request bodies, in short slices: a query waits for one at most. */
export const bodyScheduler = new EventLoopScheduler(clock, limits.bodyScanSliceMsMax);

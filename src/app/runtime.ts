import { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { EventLoopScheduler } from '../core/async/event-loop-scheduler.ts';
import { systemClock } from '../core/clock.ts';
import { systemRandom } from '../core/ids.ts';
import { limits } from '../core/limits.ts';

/** What every room is handed. */

/** Where `/` leads, and whoever signs in. */
export const home = '/app/';
export const clock = systemClock;
export const random = systemRandom;
export const backgroundScheduler = new BackgroundScheduler(clock);
export const scheduler = new EventLoopScheduler(clock);
/** Of large request bodies, whose chunks are looked through: a query that arrives meanwhile waits for a short turn. */
export const bodyScheduler = new EventLoopScheduler(clock, limits.bodyScanSliceMsMax);

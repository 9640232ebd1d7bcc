import { systemClock } from '../base/clock.ts';
import { EventLoopScheduler } from '../base/event-loop-scheduler.ts';
import { systemChance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { Turns } from '../base/turns.ts';

/** What every room is handed. */

/** Where `/` leads, and whoever signs in. */
export const home = '/app/';
export const clock = systemClock;
export const chance = systemChance;
export const turns = new Turns(clock);
export const scheduler = new EventLoopScheduler(clock);
/** Shares the main thread between scans of large request bodies, in short turns: each hop of a query waits for one. */
export const bodyScheduler = new EventLoopScheduler(clock, limits.bodyTurnMsMax);

import { systemClock } from '../base/clock.ts';
import { EventLoopScheduler } from '../base/event-loop-scheduler.ts';
import { systemChance } from '../base/ids.ts';
import { Turns } from '../base/turns.ts';

/** What every room is handed. */

/** Where `/` leads, and whoever signs in. */
export const home = '/app/';
export const clock = systemClock;
export const chance = systemChance;
export const turns = new Turns(clock);
export const scheduler = new EventLoopScheduler(clock);

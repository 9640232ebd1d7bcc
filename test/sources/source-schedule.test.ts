import { parseSourceSchedule } from '../../src/sources/source-schedule.ts';
import t from '../support/tap.ts';

/** Times of the next runs, each of which starts when it is due. */
function listTimes(schedule: string, timeZone: string, start: string, count: number): string[] {
  const next = parseSourceSchedule(schedule, timeZone);
  const times: string[] = [];
  for (let at = Date.parse(start); times.length < count; ) {
    at = next(at, at) ?? Number.NaN;
    times.push(Number.isNaN(at) ? 'never' : new Date(at).toISOString());
  }
  return times;
}

t.test('the first run is due immediately, unless the schedule is off', async (t) => {
  for (const schedule of ['1h', '02:30', '0 3 * * *'])
    t.equal(parseSourceSchedule(schedule, 'UTC')(null, 7), 7);
  t.equal(parseSourceSchedule('off', 'UTC')(null, 7), null);
  t.equal(parseSourceSchedule('off', 'UTC')(5, 7), null);
});

t.test('intervals, times of day and cron expressions', async (t) => {
  t.strictSame(listTimes('90m', 'UTC', '2026-01-01T00:00:00Z', 1), ['2026-01-01T01:30:00.000Z']);
  t.strictSame(listTimes('02:30', 'UTC', '2026-01-01T02:30:00Z', 1), ['2026-01-02T02:30:00.000Z']);
  t.strictSame(listTimes('02:30', 'Asia/Tokyo', '2026-01-01T00:00:00Z', 1), ['2026-01-01T17:30:00.000Z']);
  // 28 November 2026 is a Saturday.
  t.strictSame(listTimes('0 9,17 * * MON-FRI', 'America/New_York', '2026-11-28T00:00:00Z', 3), [
    '2026-11-30T14:00:00.000Z',
    '2026-11-30T22:00:00.000Z',
    '2026-12-01T14:00:00.000Z',
  ]);
  t.strictSame(listTimes('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 1), ['2028-02-29T00:00:00.000Z']);
});

t.test('a run occurs once a day when the clock changes', async (t) => {
  t.strictSame(listTimes('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3), [
    '2026-03-28T01:30:00.000Z',
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
  t.strictSame(listTimes('02:30', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2), [
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ]);
});

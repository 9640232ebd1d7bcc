const minuteMs = 60_000;
const unitMs = { m: minuteMs, h: 60 * minuteMs, d: 24 * 60 * minuteMs } as const;

/** Returns the time of the next scheduled backup, given that of the last one (null: none yet). */
export type BackupSchedule = (lastAt: number | null, now: number) => number;

/** Parses the setting `backupSchedule`; null for `off`. */
export function parseSchedule(text: string): BackupSchedule | null {
  if (text === 'off') return null;
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (count !== undefined) {
    const intervalMs = Number(count) * unitMs[unit as keyof typeof unitMs];
    return (lastAt, now) => (lastAt === null ? now : lastAt + intervalMs);
  }
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  const timeMs = hours * unitMs.h + minutes * minuteMs;
  return (lastAt, now) => {
    if (lastAt === null) return now;
    const midnight = lastAt - (lastAt % unitMs.d);
    const sameDay = midnight + timeMs;
    return sameDay > lastAt ? sameDay : sameDay + unitMs.d;
  };
}

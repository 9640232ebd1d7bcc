import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { MachineFacts } from '../../bench/harness/machine.ts';
import type { Measurements } from './part.ts';

export interface Violation {
  readonly guarantee: string;
  readonly message: string;
  readonly details?: unknown;
}

export interface GuaranteeResult {
  readonly name: string;
  readonly text: string;
  readonly outcome: 'held' | 'violated' | 'not checked';
  readonly violations: number;
  /** Reason why the guarantee was not checked. */
  readonly reason?: string;
}

export interface PartResult {
  readonly name: string;
  readonly seconds: number;
  readonly guarantees: readonly GuaranteeResult[];
  /** The first violations; `guarantees` has the counts. */
  readonly violations: readonly Violation[];
  readonly measurements: Measurements;
}

export interface CampaignReport {
  readonly format: 1;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly commandLine: readonly string[];
  readonly seed: number;
  readonly machine: MachineFacts;
  readonly interrupted: boolean;
  readonly violations: number;
  readonly parts: readonly PartResult[];
}

export function violationsOf(parts: readonly PartResult[]): number {
  return parts.flatMap((part) => part.guarantees).reduce((sum, { violations }) => sum + violations, 0);
}

export function writeReport(path: string, report: CampaignReport): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
}

/** One line per guarantee, followed by the measurements of each part. */
export function summary(parts: readonly PartResult[]): string {
  const rows = parts.flatMap((part) =>
    part.guarantees.map((guarantee) => [
      part.name,
      guarantee.name,
      guarantee.outcome === 'violated' ? `VIOLATED (${guarantee.violations})` : guarantee.outcome,
      guarantee.reason ?? guarantee.text,
    ]),
  );
  const measurementLines = parts.map((part) => {
    const formatted = Object.entries(part.measurements).map(
      ([name, value]) => `${name} ${formatValue(value)}`,
    );
    return `${part.name} (${part.seconds.toFixed(0)} s): ${formatted.join(', ')}`;
  });
  return [...columns([['part', 'guarantee', 'outcome', ''], ...rows]), '', ...measurementLines, ''].join(
    '\n',
  );
}

function formatValue(value: number | string): string {
  if (typeof value === 'string') return value;
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

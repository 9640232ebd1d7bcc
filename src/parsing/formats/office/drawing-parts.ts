import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { TextBudget } from '../../text-budget.ts';
import type { ZipArchive } from '../../zip.ts';
import { readChartLines, readShapeLines } from './drawing.ts';
import { openPart, type Relationship } from './office-package.ts';

export interface DrawingContext {
  readonly archive: ZipArchive;
  readonly limits: ParseLimits;
  readonly budget: TextBudget;
  /** Called for a damaged part, which affects only itself. */
  readonly onDamaged: () => void;
}

/**
 * Returns the text of a chart (including the types added in Office 2016) or a diagram of an Office file;
 * empty for other parts.
 */
export function readDrawingPartLines({ type, target }: Relationship, context: DrawingContext): string[] {
  const { archive, limits, budget, onDamaged } = context;
  const isChart = type === 'chart' || type === 'chartEx';
  if (!(isChart || type === 'diagramData') || target === null || !archive.has(target)) return [];
  try {
    const reader = openPart(archive, target, limits);
    return isChart ? readChartLines(reader, budget) : readShapeLines(reader, budget, false);
  } catch (error) {
    if (!(error instanceof ParseFailure) || error.code !== 'corrupt') throw error;
    onDamaged();
    return [];
  }
}

import { chartLines, shapeLines } from './drawing.ts';
import type { ParseLimits } from './limits.ts';
import { openPart, type Relationship } from './office-package.ts';
import { ParseFailure } from './parse-failure.ts';
import type { TextBudget } from './text-budget.ts';
import type { ZipArchive } from './zip.ts';

export interface DrawnPartsContext {
  readonly archive: ZipArchive;
  readonly limits: ParseLimits;
  readonly budget: TextBudget;
  /** Told of a part that is damaged, which costs only itself. */
  readonly onDamaged: () => void;
}

/**
 * What a chart (also of the kinds that came with Office 2016) or a diagram of an Office file says; nothing for other
 * parts.
 */
export function drawnPartLines({ type, target }: Relationship, context: DrawnPartsContext): string[] {
  const { archive, limits, budget, onDamaged } = context;
  const isChart = type === 'chart' || type === 'chartEx';
  if (!(isChart || type === 'diagramData') || target === null || !archive.has(target)) return [];
  try {
    const reader = openPart(archive, target, limits);
    return isChart ? chartLines(reader, budget) : shapeLines(reader, budget, false);
  } catch (error) {
    if (!(error instanceof ParseFailure) || error.code !== 'corrupt') throw error;
    onDamaged();
    return [];
  }
}

import type { Chart } from './findings.ts';

/** Number of distinct styles (color, shape, dashes). */
export const stylesMax = 8;

/**
 * Assigns a style to every name on a page, equal in all its charts. Names in the same chart get different
 * styles while styles are left; beyond that the least used style is reused.
 */
export function assignStyles(charts: readonly Chart[]): ReadonlyMap<string, number> {
  const groups = charts.map(namesOf);
  const styles = new Map<string, number>();
  for (const name of groups.flat()) {
    if (styles.has(name)) continue;
    const near = groups.filter((names) => names.includes(name)).flat();
    styles.set(name, pickRarestStyle(styles, near));
  }
  return styles;
}

function namesOf(chart: Chart): string[] {
  return (chart.kind === 'lines' ? chart.series : chart.bars).map(({ name }) => name);
}

/** Returns the least used style, preferring one that no name of `near` has. */
function pickRarestStyle(styles: ReadonlyMap<string, number>, near: readonly string[]): number {
  const taken = near.map((name) => styles.get(name));
  const uses = Array.from({ length: stylesMax }, (_, style) => {
    const everywhere = [...styles.values()].filter((one) => one === style).length;
    return taken.includes(style) ? everywhere + styles.size + 1 : everywhere;
  });
  return uses.indexOf(Math.min(...uses));
}

import type { Chart } from './findings.ts';

/** So many looks (colour, shape, dashes) there are. */
export const stylesMax = 8;

/**
 * The look of every name on a page, the same in all its charts. Names that meet in a chart look different, as long as
 * there are looks left; beyond that the rarest is taken, so that as few names as possible share one.
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

/** The first of the looks that fewest names have, rather one that no name of `near` has. */
function pickRarestStyle(styles: ReadonlyMap<string, number>, near: readonly string[]): number {
  const taken = near.map((name) => styles.get(name));
  const uses = Array.from({ length: stylesMax }, (_, style) => {
    const everywhere = [...styles.values()].filter((one) => one === style).length;
    return taken.includes(style) ? everywhere + styles.size + 1 : everywhere;
  });
  return uses.indexOf(Math.min(...uses));
}

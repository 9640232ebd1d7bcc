import { readdirSync, readFileSync } from 'node:fs';

/** Ids of all descendants of a process; empty if the system does not expose them. */
export function descendantsOf(pid: number): number[] {
  return descendants(pid, parentsOfAll());
}

function descendants(pid: number, parents: ReadonlyMap<number, number>): number[] {
  const children = [...parents].filter(([, parent]) => parent === pid).map(([child]) => child);
  return children.flatMap((child) => [child, ...descendants(child, parents)]);
}

function parentsOfAll(): Map<number, number> {
  const parents = new Map<number, number>();
  if (process.platform !== 'linux') return parents;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      // The program name, in parentheses, may contain any character.
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // The process ended between the listing and this read.
    }
  }
  return parents;
}

import { type GlobSegment, matchesPath } from './glob.ts';

interface IgnoreRule {
  readonly segments: readonly GlobSegment[];
  readonly isNegated: boolean;
  readonly isFolderOnly: boolean;
}

/** Rules of the `.quarryignore` files from the root to one folder, with the syntax and precedence of gitignore. */
export class IgnoreRules {
  static readonly none = new IgnoreRules([]);
  readonly #files: readonly { readonly depth: number; readonly rules: readonly IgnoreRule[] }[];

  private constructor(files: readonly { readonly depth: number; readonly rules: readonly IgnoreRule[] }[]) {
    this.#files = files;
  }

  /** Adds the file of a folder; `depth`: number of its names below the root. */
  with(text: string, depth: number): IgnoreRules {
    const rules = text.split(/\r?\n/).flatMap((line) => parseLine(line) ?? []);
    return rules.length === 0 ? this : new IgnoreRules([...this.#files, { depth, rules }]);
  }

  /** Whether an entry is ignored; `path`: its names below the root. Its folder is not ignored. */
  ignores(path: readonly string[], isFolder: boolean): boolean {
    if (this.#files.length === 0) return false;
    const names = path.map((name) => [...name]);
    let isIgnored = false;
    for (const { depth, rules } of this.#files) {
      const relative = names.slice(depth);
      for (const rule of rules) {
        if (rule.isNegated !== isIgnored || (rule.isFolderOnly && !isFolder)) continue;
        if (matchesPath(rule.segments, relative)) isIgnored = !rule.isNegated;
      }
    }
    return isIgnored;
  }
}

/** Returns null for a comment and an empty line. */
function parseLine(line: string): IgnoreRule | null {
  let pattern = trimEnd(line);
  if (pattern === '' || pattern.startsWith('#')) return null;
  const isNegated = pattern.startsWith('!');
  if (isNegated) pattern = pattern.slice(1);
  const isFolderOnly = pattern.endsWith('/');
  if (isFolderOnly) pattern = pattern.slice(0, -1);
  const isAnchored = pattern.includes('/');
  if (pattern.startsWith('/')) pattern = pattern.slice(1);
  if (pattern === '') return null;
  const segments = pattern.split('/').map((name): GlobSegment => (name === '**' ? '**' : [...name]));
  // `folder/**` matches what is inside, and not the folder.
  if (segments.length > 1 && segments.at(-1) === '**') segments.push(['*']);
  return { segments: isAnchored ? segments : ['**', ...segments], isNegated, isFolderOnly };
}

/** Removes spaces at the end, except one after a backslash. */
function trimEnd(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === ' ' && line[end - 2] !== '\\') end -= 1;
  return line.slice(0, end);
}

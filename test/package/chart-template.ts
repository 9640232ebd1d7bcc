import { stringify } from 'yaml';

type Scope = Readonly<Record<string, unknown>>;

/** Renders a template of Helm that uses fields, `quote`, `toYaml | nindent`, `if` and `range` over a map. */
export function renderTemplate(template: string, scope: Scope): string {
  const parts = template
    .replace(/\s*\{\{-/g, '{{')
    .split(/(\{\{.*?\}\})/)
    .filter((part) => part !== '');
  const { text, end } = renderBlock(parts, 0, scope);
  if (end !== parts.length) throw new Error('The template has an `end` without a block.');
  return text;
}

/** Renders until the `end` of the block that starts at `start`. */
function renderBlock(parts: readonly string[], start: number, scope: Scope): { text: string; end: number } {
  let text = '';
  let at = start;
  while (at < parts.length) {
    const part = parts[at]!;
    const action = /^\{\{(.*)\}\}$/s.exec(part)?.[1]?.trim();
    if (action === 'end') return { text, end: at };
    if (action === undefined) text += part;
    else if (/^(?:if|range) /.test(action)) {
      const inner = renderBlock(parts, at + 1, scope);
      for (const next of scopesOf(action, scope)) text += renderBlock(parts, at + 1, next).text;
      at = inner.end;
    } else text += renderAction(action, scope);
    at += 1;
  }
  return { text, end: at };
}

/** One scope for each time that a block is rendered. */
function scopesOf(action: string, scope: Scope): Scope[] {
  const condition = /^if (\.\S+)$/.exec(action)?.[1];
  if (condition !== undefined) return isTrue(lookUp(condition, scope)) ? [scope] : [];
  const range = /^range (\$\w+), (\$\w+) := (\.\S+)$/.exec(action);
  if (range === null) throw new Error(`The test does not know the block ${action}.`);
  const [, name = '', value = '', path = ''] = range;
  return Object.entries(lookUp(path, scope) as object).map(([key, content]) => ({
    ...scope,
    [name]: key,
    [value]: content,
  }));
}

/** As Helm does: empty lists and maps are false. */
function isTrue(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

function renderAction(action: string, scope: Scope): string {
  const yaml = /^toYaml (\.\S+) \| nindent (\d+)$/.exec(action);
  if (yaml !== null) {
    const [, path = '', spaces = ''] = yaml;
    const lines = stringify(lookUp(path, scope)).trimEnd().split('\n');
    return lines.map((line) => `\n${' '.repeat(Number(spaces))}${line}`).join('');
  }
  const field = /^([.$]\S+)( \| quote)?$/.exec(action);
  if (field === null) throw new Error(`The test does not know the action ${action}.`);
  const [, path = '', quote] = field;
  const value = String(lookUp(path, scope));
  return quote === undefined ? value : JSON.stringify(value);
}

function lookUp(path: string, scope: Scope): unknown {
  if (path.startsWith('$')) return scope[path];
  const value = path
    .slice(1)
    .split('.')
    .reduce<unknown>((current, name) => (current as Scope | undefined)?.[name], scope);
  if (value === undefined) throw new Error(`The chart has no value ${path}.`);
  return value;
}

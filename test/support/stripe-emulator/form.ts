/** Decoded form value: a string, a list, or an object. */
export type FormValue = string | FormValue[] | { [name: string]: FormValue };

/** Parses `items[0][price]=x&expand[]=y` as written by the SDK. */
export function parseForm(text: string): Record<string, FormValue> {
  const root: Record<string, FormValue> = {};
  for (const [key, value] of new URLSearchParams(text)) {
    const inner = [...key.matchAll(/\[([^\]]*)\]/g)].map(([, name]) => name!);
    putValue(root, [key.replace(/\[.*$/, ''), ...inner], value);
  }
  return toList(root) as Record<string, FormValue>;
}

function putValue(into: Record<string, FormValue>, path: readonly string[], value: string): void {
  const [name, ...rest] = path;
  const key = name === '' ? String(Object.keys(into).length) : name!;
  if (rest.length === 0) {
    into[key] = value;
    return;
  }
  const below = into[key];
  const next = typeof below === 'object' && !Array.isArray(below) ? below : {};
  into[key] = next;
  putValue(next, rest, value);
}

/** Converts objects with the keys 0, 1, 2, ... to arrays. */
function toList(value: FormValue): FormValue {
  if (typeof value === 'string' || Array.isArray(value)) return value;
  const names = Object.keys(value);
  const isList = names.length > 0 && names.every((name, index) => name === String(index));
  if (isList) return names.map((name) => toList(value[name]!));
  return Object.fromEntries(names.map((name) => [name, toList(value[name]!)]));
}

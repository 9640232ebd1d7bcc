/** Conditions of the filter builder, and the JSON filter of the API that they produce. */

export const filterOperators = [
  ['$eq', 'is'],
  ['$ne', 'is not'],
  ['$gt', 'is after'],
  ['$gte', 'is at least'],
  ['$lt', 'is before'],
  ['$lte', 'is at most'],
  ['$in', 'is one of'],
  ['$nin', 'is none of'],
] as const;

export type FilterOperator = (typeof filterOperators)[number][0];

export interface FilterRow {
  readonly field: string;
  readonly operator: FilterOperator;
  /** For `$in` and `$nin`: values separated by commas. */
  readonly value: string;
}

export interface FilterRows {
  /** Whether all conditions must be met, or any of them. */
  readonly match: 'all' | 'any';
  readonly rows: readonly FilterRow[];
}

export const emptyRow: FilterRow = { field: '', operator: '$eq', value: '' };

export function takesList(operator: FilterOperator): boolean {
  return operator === '$in' || operator === '$nin';
}

/** Operators that the field supports: fields with several values have only two. */
export function operatorsOf(field: string): readonly (readonly [FilterOperator, string])[] {
  return field.startsWith('list:')
    ? filterOperators.filter(([operator]) => takesList(operator))
    : filterOperators;
}

/** Returns the filter of the rows that have a field; undefined if there are none. */
export function toFilter({ match, rows }: FilterRows): object | undefined {
  const conditions = rows
    .filter(({ field }) => field.trim() !== '')
    .map(({ field, operator, value }) => ({
      [field.trim()]: { [operator]: takesList(operator) ? splitValues(value) : value },
    }));
  if (conditions.length <= 1) return conditions[0];
  return { [match === 'all' ? '$and' : '$or']: conditions };
}

function splitValues(text: string): string[] {
  return text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

/** Returns the rows of a filter; null if the builder cannot show it. */
export function fromFilter(filter: unknown): FilterRows | null {
  if (filter === undefined || filter === null) return { match: 'all', rows: [] };
  if (!isObject(filter)) return null;
  const [[key, parts] = ['', null], ...others] = Object.entries(filter);
  if (others.length === 0 && (key === '$and' || key === '$or') && Array.isArray(parts)) {
    const rows = parts.map(readConditions);
    // Several conditions in one part are combined with "and".
    if (rows.some((each) => each === null || (key === '$or' && each.length !== 1))) return null;
    return { match: key === '$and' ? 'all' : 'any', rows: rows.flatMap((each) => each ?? []) };
  }
  const rows = readConditions(filter);
  return rows === null ? null : { match: 'all', rows };
}

function readConditions(filter: unknown): FilterRow[] | null {
  if (!isObject(filter)) return null;
  const rows: FilterRow[] = [];
  for (const [field, condition] of Object.entries(filter)) {
    if (field.startsWith('$')) return null;
    const operators = typeof condition === 'string' ? { $eq: condition } : condition;
    if (!isObject(operators)) return null;
    for (const [name, operand] of Object.entries(operators)) {
      const operator = filterOperators.find(([each]) => each === name)?.[0];
      const value = operator === undefined ? null : readValue(operator, operand);
      if (operator === undefined || value === null) return null;
      rows.push({ field, operator, value });
    }
  }
  return rows;
}

function readValue(operator: FilterOperator, operand: unknown): string | null {
  if (!takesList(operator)) return typeof operand === 'string' ? operand : null;
  if (!Array.isArray(operand)) return null;
  const isPlain = operand.every((each) => typeof each === 'string' && /^[^,\s](?:[^,]*[^,\s])?$/.test(each));
  return isPlain ? operand.join(', ') : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

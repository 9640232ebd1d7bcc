import { texts } from '../texts/en/search-options.ts';

/** Conditions of the filter builder, and the JSON filter of the API that they produce. */

export const filterOperators = [
  ['$eq', texts.is],
  ['$ne', texts.isNot],
  ['$gt', texts.isAfter],
  ['$gte', texts.isAtLeast],
  ['$lt', texts.isBefore],
  ['$lte', texts.isAtMost],
  ['$in', texts.isOneOf],
  ['$nin', texts.isNoneOf],
] as const;

export type FilterOperator = (typeof filterOperators)[number][0];

/** Types of values: a value matches only values of its own type. */
export const valueTypes = [
  ['text', texts.text],
  ['number', texts.number],
  ['boolean', texts.yesOrNo],
  ['date', texts.date],
] as const;

export type ValueType = (typeof valueTypes)[number][0];

export interface FilterRow {
  readonly field: string;
  readonly operator: FilterOperator;
  readonly type: ValueType;
  /** For `$in` and `$nin`: values separated by commas. Booleans are `true` and `false`. */
  readonly value: string;
}

export interface FilterRows {
  /** Whether all conditions must be met, or any of them. */
  readonly match: 'all' | 'any';
  readonly rows: readonly FilterRow[];
}

export const emptyRow: FilterRow = { field: '', operator: '$eq', type: 'text', value: '' };

export function takesList(operator: FilterOperator): boolean {
  return operator === '$in' || operator === '$nin';
}

/** Operators that the field supports: fields with several values have only two, and booleans have no order. */
export function operatorsOf({
  field,
  type,
}: Pick<FilterRow, 'field' | 'type'>): readonly (readonly [FilterOperator, string])[] {
  if (field.startsWith('list:')) return filterOperators.filter(([operator]) => takesList(operator));
  return type === 'boolean'
    ? filterOperators.filter(([operator]) => operator === '$eq' || operator === '$ne')
    : filterOperators;
}

/** Returns the row with an operator and a value that its field and type support. */
export function adaptRow(row: FilterRow): FilterRow {
  const type = row.field.startsWith('list:') ? 'text' : row.type;
  const operators = operatorsOf({ field: row.field, type });
  const isSupported = operators.some(([operator]) => operator === row.operator);
  return {
    ...row,
    type,
    operator: isSupported ? row.operator : (operators[0]?.[0] ?? row.operator),
    value: type === 'boolean' && row.value !== 'false' ? 'true' : row.value,
  };
}

/** Returns the filter of the rows that are complete; undefined if there are none. */
export function toFilter({ match, rows }: FilterRows): object | undefined {
  const conditions = rows
    .filter(({ field, type, value }) => field.trim() !== '' && (type === 'text' || value.trim() !== ''))
    .map(({ field, operator, type, value }) => ({
      [field.trim()]: {
        [operator]: takesList(operator)
          ? splitValues(value).map((each) => toOperand(type, each))
          : toOperand(type, value),
      },
    }));
  if (conditions.length <= 1) return conditions[0];
  return { [match === 'all' ? '$and' : '$or']: conditions };
}

function toOperand(type: ValueType, text: string): unknown {
  switch (type) {
    case 'text':
      return text;
    case 'number': {
      // The server explains why a text is not a number.
      const value = Number(text);
      return Number.isFinite(value) ? value : null;
    }
    case 'boolean':
      return text === 'true';
    case 'date':
      return { $date: text.trim() };
  }
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
    const operators = isObject(condition) ? condition : { $eq: condition };
    for (const [name, operand] of Object.entries(operators)) {
      const operator = filterOperators.find(([each]) => each === name)?.[0];
      const operands = operator === undefined ? null : readOperands(operator, operand);
      if (operator === undefined || operands === null) return null;
      rows.push({ field, operator, ...operands });
    }
  }
  return rows;
}

type Operands = Pick<FilterRow, 'type' | 'value'>;

function readOperands(operator: FilterOperator, operand: unknown): Operands | null {
  if (!takesList(operator)) return readValue(operand);
  if (!Array.isArray(operand)) return null;
  const values = operand.map(readValue);
  const type = values[0]?.type ?? 'text';
  const isPlain = values.every(
    (each) => each?.type === type && type !== 'boolean' && /^[^,\s](?:[^,]*[^,\s])?$/.test(each.value),
  );
  return isPlain ? { type, value: values.map((each) => each?.value).join(', ') } : null;
}

function readValue(operand: unknown): Operands | null {
  if (typeof operand === 'string') return { type: 'text', value: operand };
  if (typeof operand === 'number') return { type: 'number', value: String(operand) };
  if (typeof operand === 'boolean') return { type: 'boolean', value: String(operand) };
  if (!isObject(operand) || Object.keys(operand).join() !== '$date') return null;
  return typeof operand.$date === 'string' ? { type: 'date', value: operand.$date } : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

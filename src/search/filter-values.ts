import { createRadius, type GeoArea, type GeoPoint } from '../core/geo.ts';
import { type Instant, parseInstant } from '../core/instants.ts';
import { isObject } from '../core/is-object.ts';
import type { FilterValue } from '../index/encoding.ts';
import { descend, type FilterPosition, reject } from './filter-position.ts';

/** Parses the operands of conditions. Errors: 400 with the position of the operand. */

export function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

export function parseText(value: unknown, position: FilterPosition): string {
  if (typeof value !== 'string') reject(position, 'expected a string.');
  // Metadata never contains a lone surrogate, and in UTF-8 it would become the replacement character, which
  // they may contain.
  if (!value.isWellFormed())
    reject(position, 'the string contains a lone surrogate, which is not a character.');
  return value;
}

/** A string, a number, a boolean, or `{"$date": "..."}`. */
export function parseValue(attribute: string, value: unknown, position: FilterPosition): FilterValue {
  if (attribute.startsWith('list:')) return parseText(value, position);
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) reject(position, 'the number is too large for a 64-bit float.');
    return value;
  }
  const { schema } = position.state;
  if (typeof value === 'string' && schema !== undefined && Object.hasOwn(schema, attribute))
    return schema[attribute] === 'date' ? parseDate(value, position) : parseText(value, position);
  if (isObject(value)) {
    const [name, ...others] = Object.keys(value);
    if (name !== '$date' || others.length > 0) reject(position, 'expected a value or {"$date": "..."}.');
    return parseDate(value.$date, descend(position, '.$date'));
  }
  if (typeof value !== 'string') reject(position, 'expected a string, a number, a boolean or a date.');
  return parseText(value, position);
}

function parseDate(value: unknown, position: FilterPosition): Instant {
  const instant = typeof value === 'string' ? parseInstant(value) : null;
  return (
    instant ??
    reject(position, 'expected an RFC 3339 date, such as "2026-03-31" or "2026-03-31T09:00:00+02:00".')
  );
}

/** Errors: 400 for a boolean. */
export function checkOrdered(value: FilterValue, position: FilterPosition): FilterValue {
  if (typeof value === 'boolean') reject(position, 'booleans have no order; use $eq, $ne, $in or $nin.');
  return value;
}

export function parseRadius(operand: unknown, position: FilterPosition): GeoArea {
  const [lat, lon, meters] = readNumbers(operand, ['lat', 'lon', 'meters'], position);
  checkPoint({ lat: lat!, lon: lon! }, position);
  if (meters! < 0) reject(position, '"meters" must not be negative.');
  return createRadius({ lat: lat!, lon: lon! }, meters!);
}

export function parseBox(operand: unknown, position: FilterPosition): GeoArea {
  const names = ['south', 'west', 'north', 'east'];
  const [south, west, north, east] = readNumbers(operand, names, position) as [
    number,
    number,
    number,
    number,
  ];
  checkPoint({ lat: south, lon: west }, position);
  checkPoint({ lat: north, lon: east }, position);
  if (south > north) reject(position, '"south" must not be greater than "north".');
  return { kind: 'box', south, west, north, east };
}

function checkPoint({ lat, lon }: GeoPoint, position: FilterPosition): void {
  if (Math.abs(lat) > 90) reject(position, `the latitude ${lat} is not between -90 and 90.`);
  if (Math.abs(lon) > 180) reject(position, `the longitude ${lon} is not between -180 and 180.`);
}

function readNumbers(operand: unknown, names: readonly string[], position: FilterPosition): number[] {
  const expected = `expected an object with the numbers ${names.map((name) => `"${name}"`).join(', ')}.`;
  if (!isObject(operand) || Object.keys(operand).length !== names.length) reject(position, expected);
  return names.map((name) => {
    const value = Object.hasOwn(operand, name) ? operand[name] : undefined;
    return typeof value === 'number' && Number.isFinite(value) ? value : reject(position, expected);
  });
}

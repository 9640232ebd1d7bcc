import { AppError } from '../core/app-error.ts';
import { parseInstant } from '../core/instants.ts';
import type { FieldTypes } from '../core/metadata-types.ts';
import { orderLimits } from '../core/order-limits.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import { isFieldName } from './field-name.ts';
import { sortValueOf } from './metadata-order.ts';

/** A boost as requests write it. */
export interface BoostOptions {
  readonly field: string;
  readonly half_life: string;
  readonly weight?: number | null;
  readonly origin?: string | null;
}

/** Factor of scores by the age of documents: it halves with each half-life. */
export interface RecencyBoost {
  readonly attribute: string;
  readonly halfLifeMs: number;
  /** 0 to 1: share of the score that decays. */
  readonly weight: number;
  /** Milliseconds since the epoch at which the age is 0. */
  readonly originMs: number;
}

const unitMs = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
} as const;
const halfLifePattern = /^(\d{1,9}(?:\.\d{1,9})?)(s|m|h|d|w|y)$/;

/** Parses the boost of a query; null for none. `nowMs`: the origin if the request has none. Errors: 400. */
export function parseBoost(
  boost: BoostOptions | null | undefined,
  schema: FieldTypes | undefined,
  nowMs: number,
): RecencyBoost | null {
  if (boost == null) return null;
  const { field, half_life: halfLife, weight, origin } = boost;
  if (!isFieldName(field) || field.startsWith('list:'))
    reject('field must be the name of a metadata field with dates: letters, digits, "-" and "_".');
  const declared = schema !== undefined && Object.hasOwn(schema, field) ? schema[field] : 'date';
  if (declared !== 'date')
    reject(
      `the metadata_schema of the collection declares ${JSON.stringify(field)} as "${declared}"; it needs dates.`,
    );
  const [, count = '', unit = ''] = halfLifePattern.exec(halfLife) ?? [];
  const halfLifeMs = Number(count) * (unitMs[unit as keyof typeof unitMs] ?? 0);
  if (!(halfLifeMs > 0 && halfLifeMs <= orderLimits.halfLifeMsMax))
    reject('half_life must be a number with a unit: s, m, h, d, w or y, such as "30d", up to 1000y.');
  if (weight != null && !(weight >= 0 && weight <= 1)) reject(`weight is ${weight}; it must be from 0 to 1.`);
  return {
    attribute: field,
    halfLifeMs,
    weight: weight ?? 1,
    originMs: parseOrigin(origin ?? null) ?? nowMs,
  };
}

function parseOrigin(origin: string | null): number | null {
  if (origin === null) return null;
  const instant = parseInstant(origin) ?? reject('origin must be an RFC 3339 date, such as "2026-03-31".');
  return instant.seconds * 1_000 + instant.nanoseconds / 1e6;
}

/**
 * Returns the factor of the score of a document, from 1 - weight to 1. Dates after the origin have an age of 0. A
 * document without a date is as if it were infinitely old.
 */
export function boostOf(
  { attribute, halfLifeMs, weight, originMs }: RecencyBoost,
  metadata: Metadata,
): number {
  const value = sortValueOf(metadata, { attribute, isDescending: false, isDate: true });
  if (value === null || typeof value !== 'object') return 1 - weight;
  const ageMs = Math.max(0, originMs - (value.seconds * 1_000 + value.nanoseconds / 1e6));
  return 1 - weight + weight * 2 ** (-ageMs / halfLifeMs);
}

function reject(problem: string): never {
  throw new AppError('bad_request', `The boost is not valid: ${problem}`);
}

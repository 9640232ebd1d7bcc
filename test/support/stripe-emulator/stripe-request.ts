import type { StripeParameters } from './parameters.ts';
import type { StripeList, StripeReply } from './present.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';

/** Request with validated parameters. */
export interface StripeRequest {
  readonly state: StripeState;
  /** Ids in the path, in order. */
  readonly ids: readonly string[];
  readonly parameters: StripeParameters;
}

/** Handler of each operation by SDK file and method: `Customers.create`. */
export type Handlers = Readonly<Record<string, (call: StripeRequest) => StripeReply>>;

const pageDefault = 10;
const pageMax = 100;

/** One page of objects, newest first. */
export function pageOfObjects(
  { parameters }: StripeRequest,
  stripeObjects: readonly StripeObject[],
  url: string,
): StripeList {
  const { limit = pageDefault, starting_after: after, ending_before: before, created } = parameters;
  const inTime = stripeObjects.filter((stripeObject) => isWithin(stripeObject.created, created));
  const newestFirst = [...inTime].reverse();
  const start = after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1;
  const stop = before === undefined ? newestFirst.length : newestFirst.findIndex(({ id }) => id === before);
  const rest = newestFirst.slice(start, stop);
  const data = rest.slice(0, Math.min(limit, pageMax));
  return { object: 'list', data, has_more: rest.length > data.length, url };
}

function isWithin(created: number, range: StripeParameters | number | undefined): boolean {
  if (range === undefined) return true;
  if (typeof range === 'number') return created === range;
  return (
    created > (range.gt ?? -1) &&
    created >= (range.gte ?? 0) &&
    created < (range.lt ?? Number.POSITIVE_INFINITY) &&
    created <= (range.lte ?? Number.POSITIVE_INFINITY)
  );
}

/** Merges metadata as Stripe does: an empty value deletes a key. */
export function mergeMetadata(
  before: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string>> | '' | undefined,
): Record<string, string> {
  if (changes === undefined) return { ...before };
  if (changes === '') return {};
  return Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, value]) => value !== ''));
}

/** Parameters among these names that are present; an empty string becomes null. */
export function pickParameters(
  parameters: StripeParameters,
  names: readonly string[],
): Record<string, unknown> {
  const found = names.filter((name) => parameters[name] !== undefined);
  return Object.fromEntries(found.map((name) => [name, parameters[name] === '' ? null : parameters[name]]));
}

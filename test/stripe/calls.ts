import type { Parameters } from './parameters.ts';
import type { Answer, Page } from './presented.ts';
import type { Thing, World } from './world.ts';

/** One request whose parameters have been checked. */
export interface Call {
  readonly world: World;
  /** The ids in its path, in order. */
  readonly ids: readonly string[];
  readonly parameters: Parameters;
}

/** What each operation does, by the SDK's file and method: `Customers.create`. */
export type Handlers = Readonly<Record<string, (call: Call) => Answer>>;

const pageDefault = 10;
const pageMax = 100;

/** One page, newest first. */
export function pageOf({ parameters }: Call, things: readonly Thing[], url: string): Page {
  const { limit = pageDefault, starting_after: after, ending_before: before, created } = parameters;
  const inTime = things.filter((thing) => isWithin(thing.created, created));
  const newestFirst = [...inTime].reverse();
  const start = after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1;
  const stop = before === undefined ? newestFirst.length : newestFirst.findIndex(({ id }) => id === before);
  const rest = newestFirst.slice(start, stop);
  const data = rest.slice(0, Math.min(limit, pageMax));
  return { object: 'list', data, has_more: rest.length > data.length, url };
}

function isWithin(created: number, range: Parameters | number | undefined): boolean {
  if (range === undefined) return true;
  if (typeof range === 'number') return created === range;
  return (
    created > (range.gt ?? -1) &&
    created >= (range.gte ?? 0) &&
    created < (range.lt ?? Number.POSITIVE_INFINITY) &&
    created <= (range.lte ?? Number.POSITIVE_INFINITY)
  );
}

/** Metadata as Stripe merges it: an empty value takes a name away. */
export function mergedMetadata(
  before: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>> | '' | undefined,
): Record<string, string> {
  if (given === undefined) return { ...before };
  if (given === '') return {};
  return Object.fromEntries(Object.entries({ ...before, ...given }).filter(([, value]) => value !== ''));
}

/** The parameters among these names that were given; an empty text is nothing. */
export function given(parameters: Parameters, names: readonly string[]): Record<string, unknown> {
  const found = names.filter((name) => parameters[name] !== undefined);
  return Object.fromEntries(found.map((name) => [name, parameters[name] === '' ? null : parameters[name]]));
}

import type { HttpReply } from '../e2e/people.ts';

/** One reply as `recorded-replies.jsonl` keeps it: without the values that differ from run to run. */
export interface RecordedReply {
  readonly request: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON with its order of fields; a string if the text is not exactly the compact form of its JSON. */
  readonly body: unknown;
}

/** Headers of the connection, and those that differ in every reply. */
const volatileHeaders =
  /^(date|connection|keep-alive|content-length|transfer-encoding|uwebsockets|x-request-id)$/;

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const timestamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g;
const httpDate = /\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g;

/** Fields with measured times, moments, or a number of rows that depends on them. */
const measuredFields =
  /"(\w*(?:latency|time_taken_ms|reranking_time_ms|window_start|uptime_\w+|created)|ms|embed|search|rerank|read)":-?[\d.]+(?:e-?\d+)?/g;

/** Replaces ids, times, keys, tokens and addresses by their kind; `known` are values of the caller with their names. */
function replaceVolatile(text: string, known: Readonly<Record<string, string>>): string {
  let plain = text;
  for (const [value, name] of Object.entries(known)) plain = plain.replaceAll(value, `<${name}>`);
  return plain
    .replace(uuid, '<uuid>')
    .replace(timestamp, '<time>')
    .replace(httpDate, '<time>')
    .replace(/\b(pm|cus|sub|in|cs|ch|seti|pi|bps|promo)_(?:test_)?\w{8,}/g, '<$1>')
    .replace(/"number":"[0-9A-F]{8}-(\d{4})"/g, '"number":"<prefix>-$1"')
    .replace(/ze_\w+…\w*/g, '<masked key>')
    .replace(/\bze_[\w-]+/g, '<key>')
    .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<signed token>')
    .replace(/(token=|sign-in=|session=|admin=|state=|secret=|\/password#)[\w.%-]{20,}/g, '$1<token>')
    .replace(/\b10(\.\d+){3}\b/g, '<address>')
    .replace(/"(access_token|secret|cursor|next_cursor)":"[^"]+"/g, '"$1":"<token>"')
    .replace(measuredFields, '"$1":"<number>"')
    .replace(/\d+\.\d{7,}(?:e-?\d+)?/g, (digits) => String(Number(Number(digits).toPrecision(6))));
}

/** Error texts may change without a change of the contract. */
function replaceErrorTexts(text: string): string {
  return text.replace(/"(detail|msg|message)":"(?:[^"\\]|\\.)*"/g, '"$1":"<text>"');
}

function toBody(text: string): unknown {
  try {
    const parsed = JSON.parse(text) as unknown;
    return JSON.stringify(parsed) === text ? parsed : text;
  } catch {
    return text;
  }
}

/** Sorts the items of each array of the body, for lists in the order of random ids. */
export function withSortedLists(reply: RecordedReply): RecordedReply {
  const sortItems = (value: unknown): unknown => {
    if (!Array.isArray(value)) return value;
    return value.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  };
  const fields = Object.entries(reply.body as object).map(([name, value]) => [name, sortItems(value)]);
  return { ...reply, body: Object.fromEntries(fields) };
}

export function toRecordedReply(
  request: string,
  { status, headers, text }: HttpReply,
  known: Readonly<Record<string, string>>,
): RecordedReply {
  const plain = replaceVolatile(text, known);
  const kept = [...headers].filter(([name]) => !volatileHeaders.test(name)).sort();
  return {
    request,
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, replaceVolatile(value, known)])),
    body: toBody(status < 400 ? plain : replaceErrorTexts(plain)),
  };
}

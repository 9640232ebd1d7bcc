import { unitPrefix } from './dimensions.ts';
import type { Embeddings, InputType } from './model.ts';
import { ProviderTrouble } from './post-json.ts';
import { type Provider, refusedText } from './provider.ts';

/** How a provider is told on which side of a search a text stands, beside a prefix. */
export const inputTypeFields = ['none', 'voyage', 'cohere', 'jina'] as const;
export type InputTypeField = (typeof inputTypeFields)[number];

export interface HttpEmbedderOptions {
  readonly provider: Provider;
  /** Components of a vector: the provider's first so many; null: as many as it gives. */
  readonly dimensions: number | null;
  /** Components as the provider gives them, where that is known already. */
  readonly width: number | null;
  /** What stands in front of every text. */
  readonly prefixes: Readonly<Record<InputType, string>>;
  readonly inputTypeField: InputTypeField;
  readonly encoding: 'float' | 'base64';
  /** Texts of one request, and their UTF-16 units together. */
  readonly batchTextsMax: number;
  readonly batchUnitsMax: number;
  /** What of one text is sent. */
  readonly textUnitsMax: number;
}

/** Texts of one caller; their vectors may come from several requests, and a request may serve several callers. */
interface EmbedCall {
  readonly texts: readonly string[];
  readonly inputType: InputType;
  readonly deadline: number | null;
  readonly rows: (Float32Array | null)[];
  taken: number;
  left: number;
  tokens: number;
  /** Nobody waits for it any more. */
  over: boolean;
  readonly resolve: (embeddings: Embeddings) => void;
  readonly reject: (error: unknown) => void;
}

interface BatchEntry {
  readonly call: EmbedCall;
  readonly index: number;
  readonly text: string;
}

interface Batch {
  readonly inputType: InputType;
  readonly deadline: number | null;
  readonly entries: readonly BatchEntry[];
}

interface Reply {
  readonly rows: readonly Float32Array[];
  readonly tokens: number;
}

const fieldsOf: Readonly<Record<InputTypeField, (inputType: InputType) => object>> = {
  none: () => ({}),
  voyage: (inputType) => ({ input_type: inputType }),
  cohere: (inputType) => ({ input_type: `search_${inputType}` }),
  jina: (inputType) => ({ task: inputType === 'query' ? 'retrieval.query' : 'retrieval.passage' }),
};

/** Vectors from an HTTP service that speaks the embeddings API of OpenAI, with texts of several callers in one request. */
export class HttpEmbedder {
  readonly #options: HttpEmbedderOptions;
  readonly #waiting: { readonly urgent: EmbedCall[]; readonly patient: EmbedCall[] } = {
    urgent: [],
    patient: [],
  };
  /** Components as the provider gives them; 0 until it was asked. */
  #width: number;

  constructor(options: HttpEmbedderOptions) {
    this.#options = options;
    this.#width = options.width ?? 0;
  }

  get provider(): Provider {
    return this.#options.provider;
  }

  /** How many components its vectors have; asks the provider when nobody said so. */
  async dimensions(): Promise<number> {
    const { dimensions } = this.#options;
    if (dimensions !== null) return dimensions;
    if (this.#width === 0) await this.embed(['How long are your vectors?'], 'query', { urgent: false });
    return this.#width;
  }

  /**
   * One row of unit length per text. `urgent`: before all that is not, and only as long as a query may wait. Rejects
   * with `ModelUnavailable`, or with a `bad_request` for a text that the provider does not take.
   */
  embed(
    texts: readonly string[],
    inputType: InputType,
    { urgent }: { readonly urgent: boolean },
  ): Promise<Embeddings> {
    const { provider } = this.#options;
    if (texts.length === 0) return Promise.resolve({ vectors: new Float32Array(0), tokens: 0 });
    const deadline = urgent ? provider.urgentDeadline() : null;
    const { promise, resolve, reject } = pending<Embeddings>();
    const call: EmbedCall = {
      ...{ texts, inputType, deadline, resolve, reject },
      rows: texts.map(() => null),
      taken: 0,
      left: texts.length,
      tokens: 0,
      over: false,
    };
    this.#waiting[urgent ? 'urgent' : 'patient'].push(call);
    void this.#serve(urgent);
    if (!urgent) return promise;
    return provider.inTime(promise).finally(() => {
      call.over = true;
    });
  }

  /** Takes one place and sends one request; whoever leaves others behind calls the next. Never rejects. */
  async #serve(urgent: boolean): Promise<void> {
    const { semaphore } = this.#options.provider;
    const queue = this.#waiting[urgent ? 'urgent' : 'patient'];
    await semaphore.acquire({ priority: urgent ? 'high' : 'normal' });
    try {
      const batch = this.#take(queue);
      if (queue.length > 0) void this.#serve(urgent);
      if (batch !== null) await this.#run(batch);
    } finally {
      semaphore.release();
    }
  }

  /** The texts that waited longest and fit into one request; null when there are none. */
  #take(queue: EmbedCall[]): Batch | null {
    const { batchTextsMax, batchUnitsMax, textUnitsMax, prefixes } = this.#options;
    const entries: BatchEntry[] = [];
    let units = 0;
    const first = queue.find((call) => !call.over);
    if (first === undefined) {
      queue.length = 0;
      return null;
    }
    for (const call of queue) {
      if (call.over || call.inputType !== first.inputType) continue;
      while (call.taken < call.texts.length && entries.length < batchTextsMax) {
        const text = sendable(prefixes[call.inputType], call.texts[call.taken]!, textUnitsMax);
        if (entries.length > 0 && units + text.length > batchUnitsMax) break;
        units += text.length;
        entries.push({ call, index: call.taken, text });
        call.taken += 1;
      }
      if (call.taken < call.texts.length) break;
    }
    const rest = queue.filter((call) => !call.over && call.taken < call.texts.length);
    queue.splice(0, queue.length, ...rest);
    const deadlines = entries.map(({ call }) => call.deadline ?? 0);
    const deadline = first.deadline === null ? null : Math.max(...deadlines);
    return { inputType: first.inputType, deadline, entries };
  }

  /** Gives every text of a batch its vector, or its caller the trouble. Never rejects. */
  async #run(batch: Batch): Promise<void> {
    const blank = batch.entries.filter(({ text }) => text.trim() === '');
    const entries = batch.entries.filter(({ text }) => text.trim() !== '');
    try {
      if (entries.length > 0) await this.#send({ ...batch, entries });
      // Services refuse empty texts; what says nothing lies in one fixed direction.
      const width = blank.length === 0 ? 0 : await this.#widthWithText();
      for (const entry of blank) this.#settle(entry, firstAxis(width), 0);
    } catch (error) {
      for (const { call } of batch.entries) give(call, error);
    }
  }

  async #widthWithText(): Promise<number> {
    if (this.#width === 0) {
      const { provider } = this.#options;
      const body = this.#body(['text'], 'document');
      await provider.ask(body, null, (reply) => this.#read(reply, 1));
    }
    return this.#options.dimensions ?? this.#width;
  }

  async #send(batch: Batch): Promise<void> {
    const { provider } = this.#options;
    const { entries, inputType, deadline } = batch;
    const wanted = entries.filter(({ call }) => !call.over);
    if (wanted.length === 0) return;
    const body = this.#body(
      wanted.map(({ text }) => text),
      inputType,
    );
    try {
      const { rows, tokens } = await provider.ask(body, deadline, (reply) =>
        this.#read(reply, wanted.length),
      );
      wanted.forEach((entry, i) => {
        this.#settle(entry, rows[i]!, tokens / wanted.length);
      });
    } catch (error) {
      if (!(error instanceof ProviderTrouble)) throw error;
      if (wanted.length === 1) return give(wanted[0]!.call, refusedText(provider.model, error));
      // One of them is at fault, or all of them are too much together.
      const half = wanted.length >> 1;
      await this.#send({ ...batch, entries: wanted.slice(0, half) });
      await this.#send({ ...batch, entries: wanted.slice(half) });
    }
  }

  #body(input: readonly string[], inputType: InputType): object {
    const { provider, encoding, inputTypeField } = this.#options;
    const { model } = provider;
    return { model, input, encoding_format: encoding, ...fieldsOf[inputTypeField](inputType) };
  }

  #settle({ call, index }: BatchEntry, row: Float32Array, tokens: number): void {
    call.rows[index] = row;
    call.tokens += tokens;
    call.left -= 1;
    if (call.left > 0 || call.over) return;
    call.over = true;
    const vectors = new Float32Array(call.rows.length * row.length);
    call.rows.forEach((vector, i) => {
      vectors.set(vector!, i * row.length);
    });
    call.resolve({ vectors, tokens: Math.ceil(call.tokens) });
  }

  /** Checks a reply and makes its vectors ours. Throws `ProviderTrouble` when it cannot be trusted. */
  #read(reply: unknown, count: number): Reply {
    const data = field(reply, 'data');
    if (!Array.isArray(data)) throw bad('its reply has no list "data"');
    if (data.length !== count) throw bad(`it gave ${data.length} vectors for ${count} texts`);
    const rows = inOrder(data).map(numbers);
    const width = rows[0]!.length;
    const wanted = this.#options.dimensions ?? width;
    if (rows.some((row) => row.length !== width)) throw bad('its vectors differ in length');
    if (width < wanted) throw bad(`its vectors have ${width} dimensions and ${wanted} are configured`);
    if (this.#width !== 0 && this.#width !== width)
      throw bad(`its vectors have ${width} dimensions, earlier ones had ${this.#width}`);
    const made = rows.map((row) => unitPrefix(row, wanted) ?? null);
    if (made.some((row) => row === null))
      throw bad('a vector of it has no direction (zero, NaN or infinite)');
    this.#width = width;
    const usage = field(reply, 'usage');
    const said = field(usage, 'prompt_tokens') ?? field(usage, 'total_tokens');
    return { rows: made as Float32Array[], tokens: typeof said === 'number' && said > 0 ? said : count };
  }
}

function pending<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((succeed, fail) => {
    resolve = succeed;
    reject = fail;
  });
  return { promise, resolve, reject };
}

function give(call: EmbedCall, error: unknown): void {
  call.over = true;
  call.reject(error);
}

/** A text as it is sent: with its prefix, without halves of characters, cut to what the model reads. */
function sendable(prefix: string, text: string, unitsMax: number): string {
  return `${prefix}${text.slice(0, unitsMax)}`.toWellFormed();
}

function firstAxis(width: number): Float32Array {
  const row = new Float32Array(width);
  row[0] = 1;
  return row;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function bad(reason: string): ProviderTrouble {
  return new ProviderTrouble('failed', reason);
}

/** By their `index`, whatever order they came in; without indices, in the order given. */
export function inOrder(data: readonly unknown[]): unknown[] {
  const indices = data.map((entry) => field(entry, 'index'));
  if (indices.every((index) => index === undefined)) return [...data];
  const ordered: unknown[] = data.map(() => undefined);
  data.forEach((entry, i) => {
    const index = indices[i];
    const isFree = typeof index === 'number' && index in ordered && ordered[index] === undefined;
    if (!isFree) throw bad(`its reply has the index ${String(index)} twice or out of range`);
    ordered[index] = entry;
  });
  return ordered;
}

/** The vector of one entry: numbers, or little-endian floats in base64. */
function numbers(entry: unknown): Float32Array {
  const embedding = field(entry, 'embedding');
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64');
    if (bytes.length === 0 || bytes.length % 4 !== 0) throw bad('a vector of it is no base64 of floats');
    return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  }
  if (!Array.isArray(embedding) || embedding.length === 0) throw bad('an entry of its reply has no vector');
  if (!embedding.every((number) => typeof number === 'number'))
    throw bad('a vector of it holds something else than numbers');
  return Float32Array.from(embedding as number[]);
}

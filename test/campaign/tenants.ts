import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type Answer, send } from '../e2e/people.ts';
import {
  buildWorld,
  type CallerName,
  fromAnywhere,
  insiders,
  type Names,
  outsiders,
  randomNames,
  type World,
} from '../http/callers.ts';
import { hostOf } from './host.ts';
import { PublishedApi, type PublishedOperation } from './openapi.ts';
import type { Measurements, Part, PartContext } from './part.ts';

/** What a request can name; the fields and path parameters of the API that carry an id. */
type Named = Readonly<Record<string, unknown>>;

/** A request with foreign ids, and the same with ids that do not exist. */
interface Variant {
  readonly words: string;
  readonly foreign: Named;
  readonly absent: Named;
}

/** They end the session of their caller, so they come last. */
const endings = /logout$/;
/** A file address is a secret of its own: it opens the file for everyone who has it. */
const capabilities = new Set(['token']);
const retriesMax = 2;
const retrySecondsMax = 5;
/** What differs between any two replies: figures, moments and new ids. */
const volatile =
  /wait \d+ seconds?|\d+\.\d+(e-?\d+)?|\d{4}-\d\d-\d\dT[\d:.]+Z|\b1\d{9,12}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Every published operation, asked by every caller that must not see what it names. */
export const tenantsPart: Part = {
  name: 'tenants',
  description: 'every published operation with every kind of caller and every foreign id',
  guarantees: [
    { name: 'leaks', text: 'no reply holds anything of another organization' },
    { name: 'identical', text: 'hidden and absent objects are answered alike, word for word' },
    { name: 'unchanged', text: 'no call changes what belongs to another organization' },
    { name: 'errors', text: 'no reply has the status 500' },
  ],
  async run(context) {
    const world = await buildWorld(hostOf(context), { onSpawn: (child) => context.ownProcess(child) });
    return new TenantCalls(context, world).run();
  },
};

class TenantCalls {
  readonly #context: PartContext;
  readonly #world: World;
  readonly #callers: readonly CallerName[];
  #calls = 0;
  #pairs = 0;
  #refusedByLimits = 0;

  constructor(context: PartContext, world: World) {
    this.#context = context;
    this.#world = world;
    this.#callers = [...outsiders, ...insiders];
  }

  async run(): Promise<Measurements> {
    const api = await PublishedApi.read(this.#world.server.url);
    const before = await this.#northern();
    const variants = await this.#variants();
    const operations = [...api.operations].sort(
      (one, other) => Number(endings.test(one.id)) - Number(endings.test(other.id)),
    );
    for (const [i, operation] of operations.entries()) {
      for (const caller of this.#callers) {
        if (this.#context.signal.aborted) break;
        for (const variant of variants(caller)) await this.#compare(api, operation, caller, variant);
      }
      this.#context.progress(`${i + 1} of ${operations.length} operations, ${this.#calls} calls`);
    }
    if (this.#context.plantsFault) await this.#plant();
    const after = await this.#northern();
    if (after !== before)
      this.#context.violate('unchanged', 'the organization is not what it was', { before, after });
    return {
      operations: operations.length,
      callers: this.#callers.length,
      calls: this.#calls,
      comparedPairs: this.#pairs,
      pairsRefusedByRateLimits: this.#refusedByLimits,
    };
  }

  /** What the owner sees of the organization, and its only document. */
  async #northern(): Promise<string> {
    const { owner, north, ask } = this.#world;
    const { organization_id, collection_name } = north;
    const info = await owner.call('organizations/get-info', { organization_id });
    const { name, users, api_keys: keys, invites } = info.body;
    const plainKeys = keys.map((key: Record<string, unknown>) => ({ ...key, last_used_at: null }));
    const list = await ask('documents/get-document-info-list', { collection_name });
    const document = list.body.documents.map((each: Record<string, unknown>) => ({
      ...each,
      file_url: null,
    }));
    const collections = (await ask('collections/get-collection-list', {})).body;
    return JSON.stringify({ name, users, keys: plainKeys, invites, document, collections });
  }

  /** All names foreign; then each foreign name beside the caller's own organization and collection. */
  async #variants(): Promise<(caller: CallerName) => readonly Variant[]> {
    const { north, owner } = this.#world;
    const sessions = await owner.call('users/list-sessions');
    const session = sessions.body?.sessions?.[0]?.id ?? randomUUID();
    const foreign = namesOf(north, session);
    const own = await this.#southern();
    // The same absent names from beginning to end: what a call makes of its own names it makes of both.
    const absent = namesOf(randomNames(), randomUUID());
    const all: Variant = { words: 'all names', foreign, absent };
    const single = (name: string): Variant => ({
      words: name,
      foreign: { ...own, [name]: foreign[name] },
      absent: { ...own, [name]: absent[name] },
    });
    const singles = ['user_id', 'api_key_id', 'session_id', 'email', 'path', 'collection_name'];
    const known = new Set<CallerName>(['neighbour', 'stranger']);
    return (caller) => (known.has(caller) ? [all, ...singles.map(single)] : [all]);
  }

  /** What belongs to the organization that asks. */
  async #southern(): Promise<Named> {
    const { headers, server } = this.#world;
    const ask = (caller: CallerName, path: string, body: object) =>
      send(`${server.url}${path}`, { headers: { ...headers[caller], ...fromAnywhere() }, body });
    const collection_name = 'south-papers';
    await ask('neighbour', '/v1/collections/add-collection', { collection_name });
    const content = { type: 'text', text: 'A text of the south.' };
    const document = { collection_name, path: 'south.txt', content, wait: true };
    await ask('neighbour', '/v1/documents/add-document', document);
    const user = await ask('stranger', '/api/users/get-user', {});
    const organization_id = user.body?.organizations?.[0]?.organization_id ?? randomUUID();
    return { organization_id, collection_name, collection: collection_name, path: 'south.txt' };
  }

  async #compare(
    api: PublishedApi,
    operation: PublishedOperation,
    caller: CallerName,
    { words, foreign, absent }: Variant,
  ): Promise<void> {
    const isNamed = words === 'all names' || mentions(api, operation, words);
    if (!isNamed) return;
    const title = `${operation.method} ${operation.path} as ${caller} (${words})`;
    const [hidden, missing] = await this.#pair(api, operation, caller, foreign, absent);
    this.#checkLeaks(title, caller, hidden, foreign);
    for (const { status } of [hidden, missing])
      if (status === 500) this.#context.violate('errors', `${title} is answered 500`, hidden.text);
    const isRefused = hidden.status === 429 || missing.status === 429;
    if (isRefused && hidden.status !== missing.status) {
      this.#refusedByLimits += 1;
      return;
    }
    // A request that names nothing tells nothing of what exists.
    const [request, twin] = [foreign, absent].map((named) =>
      JSON.stringify([addressOf(operation, named), bodyOf(api, operation, named)]),
    );
    if (request === twin) return;
    this.#pairs += 1;
    const [one, other] = [said(hidden, foreign), said(missing, absent)];
    if (one !== other) this.#context.violate('identical', title, { hidden: one, absent: other });
  }

  async #pair(
    api: PublishedApi,
    operation: PublishedOperation,
    caller: CallerName,
    foreign: Named,
    absent: Named,
  ): Promise<readonly [Answer, Answer]> {
    for (let tries = 1; ; tries += 1) {
      const pair = [
        await this.#ask(api, operation, caller, foreign),
        await this.#ask(api, operation, caller, absent),
      ] as const;
      const refused = pair.find(({ status }) => status === 429);
      const isSame = pair[0].status === pair[1].status;
      if (refused === undefined || isSame || tries >= retriesMax || this.#context.signal.aborted) return pair;
      const seconds = Math.min(retrySecondsMax, Number(refused.headers.get('retry-after') ?? 1));
      this.#context.progress(`${operation.path} as ${caller} is over a limit`);
      await wait(seconds * 1_000);
    }
  }

  #ask(api: PublishedApi, operation: PublishedOperation, caller: CallerName, named: Named): Promise<Answer> {
    this.#calls += 1;
    const own = this.#world.headers[caller];
    const organization = own['x-quarry-organization'] === undefined ? undefined : named.organization_id;
    return send(`${this.#world.server.url}${addressOf(operation, named)}`, {
      method: operation.method,
      headers: {
        ...(operation.type === null ? {} : { 'content-type': contentTypeOf(operation.type) }),
        ...fromAnywhere(),
        ...own,
        ...(organization === undefined ? {} : { 'x-quarry-organization': String(organization) }),
      },
      body: bodyOf(api, operation, named),
    });
  }

  #checkLeaks(title: string, caller: CallerName, answer: Answer, named: Named): void {
    const { marks, collectionMarks, headers } = this.#world;
    const sent = JSON.stringify([named, headers[caller]]);
    const secrets = insiders.has(caller) ? collectionMarks : marks;
    const leaked = secrets.filter((mark) => answer.text.includes(mark) && !sent.includes(mark));
    if (leaked.length > 0) this.#context.violate('leaks', `${title} tells ${leaked.join(', ')}`, answer.text);
  }

  /** The owner's reply taken for a stranger's, and a change by the owner taken for a stranger's. */
  async #plant(): Promise<void> {
    const { owner, north } = this.#world;
    const { organization_id } = north;
    const answer = await owner.call('organizations/get-info', { organization_id });
    this.#checkLeaks('a planted fault', 'stranger', answer, {});
    await owner.call('organizations/update-organization', { organization_id, name: 'Renamed' });
  }
}

function namesOf(names: Names, session: string): Named {
  const { organization_id, collection_name, path, owner_id, api_key_id, email } = names;
  return {
    ...{ organization_id, collection_name, collection: collection_name, collection_names: [collection_name] },
    ...{ path, user_id: owner_id, api_key_id, email, session_id: session },
  };
}

function mentions(api: PublishedApi, operation: PublishedOperation, name: string): boolean {
  if (operation.path.includes(`{${name}}`)) return true;
  return name in api.bodyOf(operation, { [name]: name }) && operation.type === 'application/json';
}

function addressOf(operation: PublishedOperation, named: Named): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(named[name] ?? 'google')),
  );
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && capabilities.has(parameter.name))
    .map(({ name }) => `${name}=${'x'.repeat(43)}`);
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

function contentTypeOf(type: string): string {
  if (type === 'multipart/form-data') return `${type}; boundary=b`;
  return type === '*/*' ? 'text/plain' : type;
}

function bodyOf(api: PublishedApi, operation: PublishedOperation, named: Named): unknown {
  if (operation.type === null) return undefined;
  if (operation.type === 'application/json') return api.bodyOf(operation, named);
  if (operation.type !== 'multipart/form-data') return operation.type === '*/*' ? 'New.' : 'token=x';
  const part = (name: string, value: unknown, file = '') =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  const fields = ['collection_name', 'path'].map((name) => part(name, named[name]));
  return [...fields, part('file', 'New.', '; filename="new.txt"'), '--b--\r\n'].join('');
}

/** What an answer says, without what it only repeats of the request. */
function said({ status, headers, text }: Answer, named: Named): string {
  let plain = text;
  for (const [name, value] of Object.entries(named)) plain = plain.replaceAll(String(value), `<${name}>`);
  const shown = [...headers].filter(
    ([name]) => !/^(x-request-id|date|content-length|retry-after.*)$/.test(name),
  );
  return JSON.stringify({ status, body: plain.replace(volatile, '#'), headers: shown.sort() });
}

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

/** One organization, asked for by callers that must not see it. */
interface Side {
  readonly callers: readonly CallerName[];
  /** Those who also name one foreign thing beside their own. */
  readonly combining: ReadonlySet<CallerName>;
  readonly foreign: Named;
  readonly own: Named;
  readonly secretsFor: (caller: CallerName) => readonly string[];
  /** What its owner sees of it. */
  readonly state: () => Promise<string>;
}

/** They end what their caller calls with, so they come last. */
const endings = /logout$|^delete_own_user$/;
/** People and keys of the north, who ask for what is the south's. */
const northern = ['read_only', 'all', 'MEMBER', 'ADMIN', 'OWNER', 'unnamed'] as const;
const southernText = 'barnacle-of-the-south';
/** A file address is a secret of its own: it opens the file for everyone who has it. */
const capabilities = new Set(['token']);
/** What changes without a change of the organization. */
const unstable = /^last_|^file_url$|^storage$/;
/** Those that are also sent alone, beside what is the caller's own. */
const singleNames = ['user_id', 'api_key_id', 'session_id', 'email', 'path', 'collection_name'];
const againMax = 3;
const againMs = 1_000;
const retriesMax = 2;
const retrySecondsMax = 5;
/** What differs between any two replies: secrets, figures, moments and new ids. */
const volatile =
  /(?<==)[\w-]{43}|wait \d+ seconds?|\d+\.\d+(e-?\d+)?|\d{4}-\d\d-\d\dT[\d:.]+Z|\b1\d{9,12}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

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
  #calls = 0;
  #pairs = 0;
  #refusedByLimits = 0;
  #southern: Names | null = null;

  constructor(context: PartContext, world: World) {
    this.#context = context;
    this.#world = world;
  }

  async run(): Promise<Measurements> {
    const api = await PublishedApi.read(this.#world.server.url);
    const sides = [await this.#north(), await this.#south()];
    const lasting = api.operations.filter(({ id }) => !endings.test(id));
    for (const side of sides) {
      const before = await side.state();
      await this.#askAll(api, lasting, side);
      if (this.#context.signal.aborted) break;
      if (this.#context.plantsFault) await this.#plant();
      const after = await side.state();
      if (after !== before)
        this.#context.violate('unchanged', 'an organization is not what it was', { before, after });
    }
    const last = api.operations.filter(({ id }) => endings.test(id));
    for (const side of sides) await this.#askAll(api, last, side);
    return {
      operations: api.operations.length,
      callers: sides.reduce((sum, { callers }) => sum + callers.length, 0),
      calls: this.#calls,
      comparedPairs: this.#pairs,
      pairsRefusedByRateLimits: this.#refusedByLimits,
    };
  }

  async #askAll(api: PublishedApi, operations: readonly PublishedOperation[], side: Side): Promise<void> {
    // The same absent names from beginning to end: what a call makes of its own names it makes of both.
    const absent = namesOf(randomNames(), randomUUID());
    const all: Variant = { words: 'all names', foreign: side.foreign, absent };
    const singles = singleNames.map((name) => ({
      words: name,
      foreign: { ...side.own, [name]: side.foreign[name] },
      absent: { ...side.own, [name]: absent[name] },
    }));
    for (const [i, operation] of operations.entries()) {
      for (const caller of side.callers) {
        if (this.#context.signal.aborted) return;
        const variants = side.combining.has(caller) ? [all, ...singles] : [all];
        for (const variant of variants) await this.#compare(api, operation, side, caller, variant);
      }
      this.#context.progress(`${i + 1} of ${operations.length} operations, ${this.#calls} calls`);
    }
  }

  async #north(): Promise<Side> {
    const { north, owner, marks, collectionMarks, ask } = this.#world;
    const sessions = await owner.call('users/list-sessions');
    return {
      callers: [...outsiders, ...insiders],
      combining: new Set<CallerName>(['neighbour', 'stranger']),
      foreign: namesOf(north, sessions.body?.sessions?.[0]?.id ?? randomUUID()),
      own: await this.#prepareSouth(),
      secretsFor: (caller) => (insiders.has(caller) ? collectionMarks : marks),
      state: () => this.#state('OWNER', north, ask),
    };
  }

  async #south(): Promise<Side> {
    const { north } = this.#world;
    const own = { organization_id: north.organization_id, collection_name: north.collection_name };
    const names = this.#southern!;
    const sessions = await this.#as('stranger', '/api/users/list-sessions', {});
    const ask = (path: string, body: unknown) => this.#as('neighbour', `/v1/${path}`, body as object);
    return {
      callers: northern,
      combining: new Set<CallerName>(northern),
      foreign: namesOf(names, sessions.body?.sessions?.[0]?.id ?? randomUUID()),
      own: { ...own, collection: own.collection_name, path: north.path },
      secretsFor: () => [southernText, names.organization_id, names.owner_id, names.api_key_id, names.email],
      state: () => this.#state('stranger', names, ask),
    };
  }

  /** Gives the other organization a document, and learns its names. */
  async #prepareSouth(): Promise<Named> {
    const { collection_name, path } = { collection_name: 'south-papers', path: 'south.txt' };
    await this.#as('neighbour', '/v1/collections/add-collection', { collection_name });
    const content = { type: 'text', text: `On the keel grows a ${southernText}.` };
    await this.#as('neighbour', '/v1/documents/add-document', { collection_name, path, content, wait: true });
    const user = (await this.#as('stranger', '/api/users/get-user', {})).body;
    const organization_id = user.organizations[0].organization_id as string;
    const info = (await this.#as('stranger', '/api/organizations/get-info', { organization_id })).body;
    const { user_id: owner_id, email } = info.users[0];
    const { id: api_key_id } = info.api_keys[0];
    this.#southern = {
      organization_id,
      collection_name,
      path,
      owner_id,
      member_id: owner_id,
      api_key_id,
      email,
    };
    return { organization_id, collection_name, collection: collection_name, path };
  }

  #as(caller: CallerName, path: string, body: object, named?: string): Promise<Answer> {
    const { headers, server } = this.#world;
    const inside = named === undefined ? {} : { 'x-quarry-organization': named };
    return send(`${server.url}${path}`, {
      headers: { ...headers[caller], ...fromAnywhere(), ...inside },
      body,
    });
  }

  /** What its owner sees of an organization, and its documents. */
  async #state(
    owner: CallerName,
    { organization_id, collection_name }: Names,
    ask: (path: string, body: unknown) => Promise<Answer>,
  ): Promise<string> {
    const info = await this.#as(owner, '/api/organizations/get-info', { organization_id }, organization_id);
    if (info.status !== 200) throw new Error(`the owner is answered ${info.status}: ${info.text}`);
    const { organization, users, invitations, api_keys: keys } = info.body;
    const list = await ask('documents/get-document-info-list', { collection_name });
    const stable = (name: string, value: unknown) => (unstable.test(name) ? undefined : value);
    return JSON.stringify({ organization, users, invitations, keys, documents: list.body.documents }, stable);
  }

  async #compare(
    api: PublishedApi,
    operation: PublishedOperation,
    side: Side,
    caller: CallerName,
    { words, foreign, absent }: Variant,
  ): Promise<void> {
    const isNamed = words === 'all names' || mentions(api, operation, words);
    if (!isNamed) return;
    const title = `${operation.method} ${operation.path} as ${caller} (${words})`;
    const [hidden, missing] = await this.#pair(api, operation, caller, foreign, absent);
    this.#checkLeaks(title, side.secretsFor(caller), hidden, [foreign, this.#world.headers[caller]]);
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
    let [one, other] = [said(hidden, foreign), said(missing, absent)];
    // What is the caller's own may still be on its way, as a document that is indexed; a leak stays.
    for (let again = 0; one !== other && again < againMax; again += 1) {
      await wait(againMs);
      const [later, twinLater] = await this.#pair(api, operation, caller, foreign, absent);
      [one, other] = [said(later, foreign), said(twinLater, absent)];
    }
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

  #checkLeaks(title: string, secrets: readonly string[], { text }: Answer, sent: unknown): void {
    const known = JSON.stringify(sent);
    const leaked = secrets.filter((mark) => text.includes(mark) && !known.includes(mark));
    if (leaked.length > 0) this.#context.violate('leaks', `${title} tells ${leaked.join(', ')}`, text);
  }

  /** The owner's reply taken for a stranger's, and a change by the owner taken for a stranger's. */
  async #plant(): Promise<void> {
    const { owner, north, marks } = this.#world;
    const { organization_id } = north;
    const answer = await owner.call('organizations/get-info', { organization_id });
    this.#checkLeaks('a planted fault', marks, answer, {});
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
  return JSON.stringify({ status, body: plain, headers: shown.sort() }).replace(volatile, '#');
}

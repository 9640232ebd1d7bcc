import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type HttpReply, sendRequest } from '../e2e/people.ts';
import { type CallerName, organizationInsiders, outsiders } from '../http/callers.ts';
import {
  buildTenantFixture,
  fromNewHost,
  type ResourceIds,
  randomResourceIds,
  type TenantFixture,
} from '../http/tenant-fixture.ts';
import { PublishedApi, type PublishedOperation } from './openapi.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { serverHost } from './server-host.ts';

/** Ids in a request: the fields and path parameters of the API that carry one. */
type RequestIds = Readonly<Record<string, unknown>>;

/** Request with foreign ids, and the same request with ids that do not exist. */
interface ForeignRequest {
  readonly words: string;
  readonly foreign: RequestIds;
  readonly absent: RequestIds;
}

/** Organization and the callers that must not see its data. */
interface AttackedTenant {
  readonly callers: readonly CallerName[];
  /** Callers that also send one foreign id together with their own ids. */
  readonly combiningCallers: ReadonlySet<CallerName>;
  readonly foreign: RequestIds;
  readonly own: RequestIds;
  readonly secretsFor: (caller: CallerName) => readonly string[];
  /** State of the organization as seen by its owner. */
  readonly state: () => Promise<string>;
}

/** Operations that end the session of their caller; they run last. */
const sessionEndingOperations = /logout$|^delete_own_user$/;
/** Users and keys of the first organization that name resources of the second. */
const attackers = ['read_only', 'all', 'MEMBER', 'ADMIN', 'OWNER', 'unnamed'] as const;
const victimText = 'barnacle-of-the-south';
/** A file URL is a capability: it grants access to anyone who has it. */
const capabilityFields = new Set(['token']);
/** Fields that change without a change of the organization. */
const unstableFields = /^last_|^file_url$|^storage$/;
/** Fields that are also sent as the only foreign id, beside the caller's own ids. */
const singleIdFields = ['user_id', 'api_key_id', 'session_id', 'email', 'path', 'collection_name'];
const againMax = 3;
const againMs = 1_000;
const retriesMax = 2;
const retrySecondsMax = 5;
/** Parts that differ between any two replies: secrets, figures, times and new ids. */
const volatileText =
  /(?<==)[\w-]{43}|wait \d+ seconds?|\d+\.\d+(e-?\d+)?|\d{4}-\d\d-\d\dT[\d:.]+Z|\b1\d{9,12}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Calls every published operation as every caller that must not see the named resources. */
export const tenantsPart: Part = {
  name: 'tenants',
  description: 'every published operation with every kind of caller and every ID of another organization',
  guarantees: [
    { name: 'leaks', text: 'no reply contains data of another organization' },
    { name: 'identical', text: 'replies for hidden and absent objects are identical' },
    { name: 'unchanged', text: 'no call changes data of another organization' },
    { name: 'errors', text: 'no reply has the status 500' },
  ],
  async run(context) {
    const fixture = await buildTenantFixture(serverHost(context), {
      onSpawn: (child) => context.trackProcess(child),
    });
    return new TenantIsolationRun(context, fixture).run();
  },
};

class TenantIsolationRun {
  readonly #context: PartContext;
  readonly #fixture: TenantFixture;
  #calls = 0;
  #pairs = 0;
  #refusedByLimits = 0;
  #victimNames: ResourceIds | null = null;

  constructor(context: PartContext, fixture: TenantFixture) {
    this.#context = context;
    this.#fixture = fixture;
  }

  async run(): Promise<Measurements> {
    const api = await PublishedApi.read(this.#fixture.server.url);
    const tenants = [await this.#attackOnFirstTenant(), await this.#attackOnSecondTenant()];
    const repeatableOperations = api.operations.filter(({ id }) => !sessionEndingOperations.test(id));
    for (const tenant of tenants) {
      const before = await tenant.state();
      await this.#callAllOperations(api, repeatableOperations, tenant);
      if (this.#context.signal.aborted) break;
      if (this.#context.plantsFault) await this.#plantFault();
      const after = await tenant.state();
      if (after !== before)
        this.#context.violate('unchanged', 'an organization has changed', { before, after });
    }
    const sessionEnding = api.operations.filter(({ id }) => sessionEndingOperations.test(id));
    for (const tenant of tenants) await this.#callAllOperations(api, sessionEnding, tenant);
    return {
      operations: api.operations.length,
      callers: tenants.reduce((sum, { callers }) => sum + callers.length, 0),
      calls: this.#calls,
      comparedPairs: this.#pairs,
      pairsRefusedByRateLimits: this.#refusedByLimits,
    };
  }

  async #callAllOperations(
    api: PublishedApi,
    operations: readonly PublishedOperation[],
    tenant: AttackedTenant,
  ): Promise<void> {
    // All calls use the same absent ids, so that state created under them is equal in both requests of a pair.
    const absent = idsOf(randomResourceIds(), randomUUID());
    const all: ForeignRequest = { words: 'all names', foreign: tenant.foreign, absent };
    const singles = singleIdFields.map((name) => ({
      words: name,
      foreign: { ...tenant.own, [name]: tenant.foreign[name] },
      absent: { ...tenant.own, [name]: absent[name] },
    }));
    for (const [i, operation] of operations.entries()) {
      for (const caller of tenant.callers) {
        if (this.#context.signal.aborted) return;
        const variants = tenant.combiningCallers.has(caller) ? [all, ...singles] : [all];
        for (const variant of variants) await this.#compare(api, operation, tenant, caller, variant);
      }
      this.#context.progress(`${i + 1} of ${operations.length} operations, ${this.#calls} calls`);
    }
  }

  async #attackOnFirstTenant(): Promise<AttackedTenant> {
    const {
      tenant: firstTenant,
      owner,
      tenantMarkers: secretMarkers,
      collectionMarkers: collectionMarks,
      askAsTenant: ask,
    } = this.#fixture;
    const sessions = await owner.call('users/list-sessions');
    return {
      callers: [...outsiders, ...organizationInsiders],
      combiningCallers: new Set<CallerName>(['otherKey', 'nonMember']),
      foreign: idsOf(firstTenant, sessions.body?.sessions?.[0]?.id ?? randomUUID()),
      own: await this.#prepareSecondTenant(),
      secretsFor: (caller) => (organizationInsiders.has(caller) ? collectionMarks : secretMarkers),
      state: () => this.#state('OWNER', firstTenant, ask),
    };
  }

  async #attackOnSecondTenant(): Promise<AttackedTenant> {
    const { tenant: firstTenant } = this.#fixture;
    const own = {
      organization_id: firstTenant.organization_id,
      collection_name: firstTenant.collection_name,
    };
    const names = this.#victimNames!;
    const sessions = await this.#callAs('nonMember', '/api/users/list-sessions', {});
    const ask = (path: string, body: unknown) => this.#callAs('otherKey', `/v1/${path}`, body as object);
    return {
      callers: attackers,
      combiningCallers: new Set<CallerName>(attackers),
      foreign: idsOf(names, sessions.body?.sessions?.[0]?.id ?? randomUUID()),
      own: { ...own, collection: own.collection_name, path: firstTenant.path },
      secretsFor: () => [victimText, names.organization_id, names.owner_id, names.api_key_id, names.email],
      state: () => this.#state('nonMember', names, ask),
    };
  }

  /** Adds a document to the second organization and returns its ids. */
  async #prepareSecondTenant(): Promise<RequestIds> {
    const { collection_name, path } = { collection_name: 'south-papers', path: 'south.txt' };
    await this.#callAs('otherKey', '/v1/collections/add-collection', { collection_name });
    const content = { type: 'text', text: `On the keel grows a ${victimText}.` };
    await this.#callAs('otherKey', '/v1/documents/add-document', {
      collection_name,
      path,
      content,
      wait: true,
    });
    const user = (await this.#callAs('nonMember', '/api/users/get-user', {})).body;
    const organization_id = user.organizations[0].organization_id as string;
    const info = (await this.#callAs('nonMember', '/api/organizations/get-info', { organization_id })).body;
    const { user_id: owner_id, email } = info.users[0];
    const { id: api_key_id } = info.api_keys[0];
    this.#victimNames = {
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

  #callAs(caller: CallerName, path: string, body: object, ids?: string): Promise<HttpReply> {
    const { headers, server } = this.#fixture;
    const inside = ids === undefined ? {} : { 'x-quarry-organization': ids };
    return sendRequest(`${server.url}${path}`, {
      headers: { ...headers[caller], ...fromNewHost(), ...inside },
      body,
    });
  }

  /** State of an organization and its documents as seen by its owner. */
  async #state(
    owner: CallerName,
    { organization_id, collection_name }: ResourceIds,
    ask: (path: string, body: unknown) => Promise<HttpReply>,
  ): Promise<string> {
    const info = await this.#callAs(
      owner,
      '/api/organizations/get-info',
      { organization_id },
      organization_id,
    );
    if (info.status !== 200) throw new Error(`the owner got status ${info.status}: ${info.text}`);
    const { organization, users, invitations, api_keys: keys } = info.body;
    const list = await ask('documents/get-document-info-list', { collection_name });
    const stable = (name: string, value: unknown) => (unstableFields.test(name) ? undefined : value);
    return JSON.stringify({ organization, users, invitations, keys, documents: list.body.documents }, stable);
  }

  async #compare(
    api: PublishedApi,
    operation: PublishedOperation,
    tenant: AttackedTenant,
    caller: CallerName,
    { words, foreign, absent }: ForeignRequest,
  ): Promise<void> {
    const isNamed = words === 'all names' || usesField(api, operation, words);
    if (!isNamed) return;
    const title = `${operation.method} ${operation.path} as ${caller} (${words})`;
    const [hidden, missing] = await this.#callPair(api, operation, caller, foreign, absent);
    this.#checkLeaks(title, tenant.secretsFor(caller), hidden, [foreign, this.#fixture.headers[caller]]);
    for (const { status } of [hidden, missing])
      if (status === 500) this.#context.violate('errors', `${title} returned 500`, hidden.text);
    const isRefused = hidden.status === 429 || missing.status === 429;
    if (isRefused && hidden.status !== missing.status) {
      this.#refusedByLimits += 1;
      return;
    }
    // A request without ids cannot reveal whether a resource exists.
    const [request, counterpart] = [foreign, absent].map((ids) =>
      JSON.stringify([urlOf(operation, ids), bodyOf(api, operation, ids)]),
    );
    if (request === counterpart) return;
    this.#pairs += 1;
    let [one, other] = [comparableReply(hidden, foreign), comparableReply(missing, absent)];
    // The caller's own data may still change, such as a document being indexed; a leak persists.
    for (let again = 0; one !== other && again < againMax; again += 1) {
      await wait(againMs);
      const [later, counterpartLater] = await this.#callPair(api, operation, caller, foreign, absent);
      [one, other] = [comparableReply(later, foreign), comparableReply(counterpartLater, absent)];
    }
    if (one !== other) this.#context.violate('identical', title, { hidden: one, absent: other });
  }

  async #callPair(
    api: PublishedApi,
    operation: PublishedOperation,
    caller: CallerName,
    foreign: RequestIds,
    absent: RequestIds,
  ): Promise<readonly [HttpReply, HttpReply]> {
    for (let attempts = 1; ; attempts += 1) {
      const pair = [
        await this.#call(api, operation, caller, foreign),
        await this.#call(api, operation, caller, absent),
      ] as const;
      const refused = pair.find(({ status }) => status === 429);
      const isSame = pair[0].status === pair[1].status;
      if (refused === undefined || isSame || attempts >= retriesMax || this.#context.signal.aborted)
        return pair;
      const seconds = Math.min(retrySecondsMax, Number(refused.headers.get('retry-after') ?? 1));
      this.#context.progress(`${operation.path} as ${caller} exceeds a limit`);
      await wait(seconds * 1_000);
    }
  }

  #call(
    api: PublishedApi,
    operation: PublishedOperation,
    caller: CallerName,
    ids: RequestIds,
  ): Promise<HttpReply> {
    this.#calls += 1;
    const own = this.#fixture.headers[caller];
    const organization = own['x-quarry-organization'] === undefined ? undefined : ids.organization_id;
    return sendRequest(`${this.#fixture.server.url}${urlOf(operation, ids)}`, {
      method: operation.method,
      headers: {
        ...(operation.type === null ? {} : { 'content-type': contentTypeOf(operation.type) }),
        ...fromNewHost(),
        ...own,
        ...(organization === undefined ? {} : { 'x-quarry-organization': String(organization) }),
      },
      body: bodyOf(api, operation, ids),
    });
  }

  #checkLeaks(title: string, secrets: readonly string[], { text }: HttpReply, sent: unknown): void {
    const known = JSON.stringify(sent);
    const leaked = secrets.filter((marker) => text.includes(marker) && !known.includes(marker));
    if (leaked.length > 0) this.#context.violate('leaks', `${title} reveals ${leaked.join(', ')}`, text);
  }

  /** Checks a reply to the owner as if an outsider had received it, and changes the organization as its owner. */
  async #plantFault(): Promise<void> {
    const { owner, tenant: firstTenant, tenantMarkers: secretMarkers } = this.#fixture;
    const { organization_id } = firstTenant;
    const answer = await owner.call('organizations/get-info', { organization_id });
    this.#checkLeaks('a planted fault', secretMarkers, answer, {});
    await owner.call('organizations/update-organization', { organization_id, name: 'Renamed' });
  }
}

function idsOf(names: ResourceIds, session: string): RequestIds {
  const { organization_id, collection_name, path, owner_id, api_key_id, email } = names;
  return {
    organization_id,
    collection_name,
    collection: collection_name,
    collection_names: [collection_name],
    path,
    user_id: owner_id,
    api_key_id,
    email,
    session_id: session,
  };
}

function usesField(api: PublishedApi, operation: PublishedOperation, name: string): boolean {
  if (operation.path.includes(`{${name}}`)) return true;
  return name in api.bodyOf(operation, { [name]: name }) && operation.type === 'application/json';
}

function urlOf(operation: PublishedOperation, ids: RequestIds): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(ids[name] ?? 'google')),
  );
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && capabilityFields.has(parameter.name))
    .map(({ name }) => `${name}=${'x'.repeat(43)}`);
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

function contentTypeOf(type: string): string {
  if (type === 'multipart/form-data') return `${type}; boundary=b`;
  return type === '*/*' ? 'text/plain' : type;
}

function bodyOf(api: PublishedApi, operation: PublishedOperation, ids: RequestIds): unknown {
  if (operation.type === null) return undefined;
  if (operation.type === 'application/json') return api.bodyOf(operation, ids);
  if (operation.type !== 'multipart/form-data') return operation.type === '*/*' ? 'New.' : 'token=x';
  const part = (name: string, value: unknown, file = '') =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  const fields = ['collection_name', 'path'].map((name) => part(name, ids[name]));
  return [...fields, part('file', 'New.', '; filename="new.txt"'), '--b--\r\n'].join('');
}

/** Reply without the parts that only repeat the request. */
function comparableReply({ status, headers, text }: HttpReply, ids: RequestIds): string {
  let plain = text;
  for (const [name, value] of Object.entries(ids)) plain = plain.replaceAll(String(value), `<${name}>`);
  const shown = [...headers].filter(
    ([name]) => !/^(x-request-id|date|content-length|retry-after.*)$/.test(name),
  );
  return JSON.stringify({ status, body: plain, headers: shown.sort() }).replace(volatileText, '#');
}

import { randomUUID } from 'node:crypto';
import type { Route } from '../../../src/http/routes/route.ts';
import type { ResourceIds, TenantFixture } from '../tenant-fixture.ts';

/** Requests of the operations, and the resources that a permitted call consumes. */

export interface CallInput {
  readonly body?: unknown;
  readonly query?: string;
  readonly type?: string;
  /** Path parameters. */
  readonly parts?: Readonly<Record<string, string>>;
}

/** Returns the example of the documentation, with the ids of the fixture in its fields. */
export function exampleInput(route: Route, names: ResourceIds): CallInput {
  if (!('example' in route) || (route.kind === 'account' && route.inputSource !== 'json'))
    throw new Error(
      `${route.operation} has no JSON example. Add buildInput to its entry in test/http/operations.`,
    );
  const ids: Readonly<Record<string, string>> = { ...names, user_id: names.member_id };
  const fields = Object.entries(route.example as object).map(
    ([name, value]: [string, unknown]) => [name, ids[name] ?? value] as const,
  );
  const isInPath = ([name]: readonly [string, unknown]) => route.path.split('/').includes(`:${name}`);
  const parts = fields.filter(isInPath).map(([name, value]) => [name, String(value)] as const);
  const others = Object.fromEntries(fields.filter((field) => !isInPath(field)));
  const query = new URLSearchParams(others as Record<string, string>).toString();
  const sent = route.method === 'POST' ? { body: others } : query === '' ? {} : { query };
  return { parts: Object.fromEntries(parts), ...sent };
}

export const inCollection =
  (more: object = {}) =>
  ({ collection_name }: ResourceIds): CallInput => ({ body: { collection_name, ...more } });
export const ofDocument =
  (more: object = {}) =>
  ({ collection_name, path }: ResourceIds): CallInput => ({ body: { collection_name, path, ...more } });
export const inOrganization =
  (more: object = {}) =>
  ({ organization_id }: ResourceIds): CallInput => ({ body: { organization_id, ...more } });
export const ofKey =
  (more: object = {}) =>
  ({ organization_id, api_key_id }: ResourceIds): CallInput => ({
    body: { organization_id, api_key_id, ...more },
  });
export const withBody =
  (body: object = {}) =>
  (): CallInput => ({ body });

export const newText = { type: 'text', text: 'New.' };
export const allTime = { start_time: 0, end_time: 2_000_000_000, aggregation_window: 'daily' };
export const usageOfCollection = ({ collection_name }: ResourceIds): CallInput => ({
  body: { ...allTime, collection_names: [collection_name] },
});

export async function freshCollection(fixture: TenantFixture, fresh: string): Promise<Partial<ResourceIds>> {
  await fixture.askAsTenant('collections/add-collection', { collection_name: fresh });
  return { collection_name: fresh };
}

export async function freshDocument(fixture: TenantFixture, fresh: string): Promise<Partial<ResourceIds>> {
  const { collection_name } = fixture.tenant;
  await fixture.askAsTenant('documents/add-document', { collection_name, path: fresh, content: newText });
  return { path: fresh };
}

export async function freshKey(
  { owner, tenant }: TenantFixture,
  fresh: string,
): Promise<Partial<ResourceIds>> {
  const { organization_id } = tenant;
  const request = { organization_id, name: fresh, permission: 'all' };
  return { api_key_id: (await owner.call('organizations/api-keys/add-api-key', request)).body.id };
}

export async function freshOrganization({
  askAsAdministrator,
}: TenantFixture): Promise<Partial<ResourceIds>> {
  const organization_id = randomUUID();
  await askAsAdministrator('admin/create-organization', { organization_id });
  return { organization_id };
}

export async function freshInvitation(
  { owner, tenant }: TenantFixture,
  fresh: string,
): Promise<Partial<ResourceIds>> {
  const email = `${fresh}@example.com`;
  await owner.call('organizations/users/invite-user', { organization_id: tenant.organization_id, email });
  return { email };
}

/** Creates a user without an organization. */
export async function freshUser({ newUser }: TenantFixture, fresh: string): Promise<Partial<ResourceIds>> {
  return { member_id: await newUser(fresh) };
}

export const formType = 'application/x-www-form-urlencoded';
export const formPart = (name: string, value: string, file = '') =>
  `--b\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';

interface VercelReply {
  readonly status: number;
  readonly body: object;
}

export interface VercelEmulator {
  readonly url: string;
  /** Token requests as received. */
  readonly exchanges: { readonly path: string; readonly form: Readonly<Record<string, string>> }[];
  /** Environment variables of the selected projects, by project. */
  readonly projects: Record<string, Record<string, string>>;
  /** Reply to a request that sets variables; they are set only if its status is 201. */
  variablesReply: VercelReply;
  /** Valid access token. A replaced token is issued only for the client's own secret (`client_credentials`). */
  token: string;
  /** Number of requests with the token to paths that start with the given prefix. */
  readonly requestCount: (path: string) => number;
}

const initialToken = 'the-token-of-vercel';
const team = 'team_1';
const pageMax = 2;

/**
 * Vercel API as seen by an integration: one installation (`icfg_1`) of one team. The codes `used`, `down` and `odd` fail;
 * any other code succeeds.
 */
export async function startVercelEmulator(t: Test): Promise<VercelEmulator> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => (text += part));
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://vercel');
      const vercelRequest = { method: request.method ?? '', url, text };
      const isAuthorized = request.headers.authorization === `Bearer ${vercel.token}`;
      if (isAuthorized) paths.push(url.pathname);
      const exchanges = url.pathname === '/v2/oauth/access_token';
      const { status, body } = exchanges
        ? exchangeCode(vercel, vercelRequest)
        : handleApiRequest(vercel, vercelRequest, isAuthorized);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const vercel: VercelEmulator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: initialToken,
    exchanges: [],
    projects: { prj_1: {}, prj_2: {}, prj_3: {} },
    variablesReply: { status: 201, body: { created: [], failed: [] } },
    requestCount: (path) => paths.filter((each) => each.startsWith(path)).length,
  };
  return vercel;
}

interface VercelRequest {
  readonly method: string;
  readonly url: URL;
  readonly text: string;
}

function exchangeCode(
  { exchanges, token }: VercelEmulator,
  { method, url, text }: VercelRequest,
): VercelReply {
  const form = Object.fromEntries(new URLSearchParams(text));
  exchanges.push({ path: `${method} ${url.pathname}`, form });
  if (form.code === 'used') return { status: 400, body: { error: 'invalid_grant' } };
  if (form.code === 'down') return { status: 500, body: {} };
  if (form.code === 'odd') return { status: 200, body: { access_token: 'only' } };
  if (form.grant_type === 'client_credentials') {
    const isKnown =
      form.installation_id === 'icfg_1' && form.client_secret === exchanges[0]!.form.client_secret;
    return isKnown
      ? { status: 200, body: { access_token: token, token_type: 'Bearer', expires_in: 3_600 } }
      : { status: 403, body: { error: 'invalid_client' } };
  }
  const installationFields = { installation_id: 'icfg_1', team_id: team, user_id: 'user_1' };
  return { status: 200, body: { access_token: token, token_type: 'Bearer', ...installationFields } };
}

function handleApiRequest(
  { projects, variablesReply: says }: VercelEmulator,
  { method, url, text }: VercelRequest,
  isAuthorized: boolean,
): VercelReply {
  const { pathname, searchParams } = url;
  if (isAuthorized && pathname === `/v2/teams/${team}`)
    return { status: 200, body: { id: team, slug: 'the-team' } };
  if (!isAuthorized || searchParams.get('teamId') !== team) return { status: 403, body: {} };
  if (method === 'GET' && pathname === '/v10/projects') {
    const all = Object.keys(projects).map((id) => ({ id, name: `The project ${id}` }));
    const from = Number(searchParams.get('from') ?? 0);
    const next = from + pageMax < all.length ? from + pageMax : null;
    return {
      status: 200,
      body: { projects: all.slice(from, from + pageMax), pagination: { count: pageMax, next } },
    };
  }
  const project = projects[/^\/v10\/projects\/([^/]+)\/env$/.exec(pathname)?.[1] ?? ''];
  if (method !== 'POST' || project === undefined || searchParams.get('upsert') !== 'true')
    return { status: 404, body: {} };
  const variables = JSON.parse(text) as { key: string; value: string; type: string; target: string[] }[];
  if (!variables.every(({ type, target }) => type === 'encrypted' && target.length === 3))
    return { status: 400, body: {} };
  if (says.status === 201) for (const { key, value } of variables) project[key] = value;
  return says;
}

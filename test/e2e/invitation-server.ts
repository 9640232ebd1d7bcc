import type { Test } from '../support/tap.ts';
import { type HttpReply, sendRequest } from './people.ts';
import { adminKey, type ServerVariables, TestServer, type TestServerOptions } from './server.ts';

/** Headers of a request with a session or an API key. */
export const withToken = (token: string) => ({ authorization: `Bearer ${token}` });

/**
 * A server without mail and identity providers, whose operator invites users. Requests without a session come from a new
 * host each, so that limits per address do not apply.
 */
export class InvitationServer {
  readonly server: TestServer;
  /** Session of the operator, who owns the first organization. */
  readonly operator: string;
  readonly organizationId: string;
  #hosts = 0;

  private constructor(server: TestServer, operator: string, organizationId: string) {
    this.server = server;
    this.operator = operator;
    this.organizationId = organizationId;
  }

  static async start(
    t: Test,
    variables: ServerVariables = {},
    options: TestServerOptions = {},
  ): Promise<InvitationServer> {
    const server = await TestServer.start(t, { TRUST_PROXY: 'true', ...variables }, options);
    const link = new URL(/\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '');
    const opened = await sendRequest(`${server.url}${link.pathname}${link.search}`, {
      method: 'GET',
      headers: { accept: 'application/json' },
    });
    const operator: string = opened.body.access_token;
    const user = await sendRequest(`${server.url}/api/users/get-user`, {
      body: {},
      headers: withToken(operator),
    });
    return new InvitationServer(server, operator, user.body.organizations[0].organization_id);
  }

  /** Address of a proxy's client that sent no request yet. */
  fromNewHost(): Record<string, string> {
    this.#hosts += 1;
    return { 'x-forwarded-for': `10.0.${this.#hosts >> 8}.${this.#hosts & 255}` };
  }

  /** Sends a request without a session to an operation below `/api`. */
  post(path: string, body: unknown, headers = this.fromNewHost()): Promise<HttpReply> {
    return sendRequest(`${this.server.url}/api/${path}`, { body, headers });
  }

  /** Sends a request of a session. */
  call(token: string, path: string, body: unknown = {}): Promise<HttpReply> {
    return this.post(path, body, withToken(token));
  }

  administer(operation: string, body: unknown): Promise<HttpReply> {
    return sendRequest(`${this.server.url}/v1/admin/${operation}`, { body, headers: withToken(adminKey) });
  }

  /** Invites an address as `from`, by default the operator; returns the code of the invitation. */
  async invite(email: string, from = this.operator, organization_id = this.organizationId): Promise<string> {
    const invited = await this.call(from, 'organizations/users/invite-user', { organization_id, email });
    return invited.body.invite_code;
  }
}

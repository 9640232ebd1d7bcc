import { AppError } from '../core/app-error.ts';
import { sourceLimits } from '../core/source-limits.ts';
import type { PinnedConnections } from '../egress/pinned-connections.ts';
import type { WebDavSettings } from '../schemas/sources.ts';
import type { SourceCredentials, SourceOpener } from '../sources/source-kinds.ts';
import { WebDavClient, type WebDavClientOptions } from '../sources/webdav/webdav-client.ts';
import { WebDavSource } from '../sources/webdav/webdav-source.ts';
import { clock } from './runtime.ts';

/** Opens folders of WebDAV servers. */
export function createWebDavOpener(connections: PinnedConnections): SourceOpener {
  return {
    credentialNames: ['username', 'password'],
    canWatch: false,
    async open({ settings }, given) {
      const { url: text, include_hidden } = settings as WebDavSettings;
      const url = connections.checkUrl(text);
      if (url.search !== '' || url.hash !== '')
        throw new AppError('bad_request', 'The URL of a WebDAV folder must not contain "?" or "#".');
      if (url.href.length > sourceLimits.urlUnitsMax)
        throw new AppError('bad_request', `The URL has more than ${sourceLimits.urlUnitsMax} characters.`);
      if (!url.pathname.endsWith('/')) url.pathname += '/';
      const client = new WebDavClient({ connections, credentials: parseCredentials(given) });
      return new WebDavSource({ url, includesHidden: include_hidden ?? false, client, clock });
    },
  };
}

/** A share of a Nextcloud server can have a user name without a password. */
function parseCredentials({
  username,
  password = '',
}: SourceCredentials): WebDavClientOptions['credentials'] {
  if (username === undefined && password !== '')
    throw new AppError('bad_request', 'The password needs a username.');
  if (username === undefined) return null;
  if (username.includes(':') || ![username, password].every((text) => /^\P{Cc}{0,1024}$/u.test(text)))
    throw new AppError(
      'bad_request',
      'The credentials must have at most 1,024 characters without control characters, and the username no colon.',
    );
  return { username, password };
}

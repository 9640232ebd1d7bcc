import { AppError } from '../core/app-error.ts';
import type { PinnedConnections } from '../egress/pinned-connections.ts';
import type { ImapSettings } from '../schemas/sources.ts';
import { ImapConnection, imapPorts } from '../sources/imap/imap-connection.ts';
import { ImapSource } from '../sources/imap/imap-source.ts';
import type { SourceOpener } from '../sources/source-kinds.ts';

const hostPattern = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/i;
const credentialPattern = /^\P{Cc}{1,1024}$/u;

/** Opens accounts of mail servers. */
export function createImapOpener(connections: PinnedConnections): SourceOpener {
  return {
    credentialNames: ['username', 'password'],
    canWatch: false,
    async open({ settings }, { username, password }) {
      const { host, port: chosenPort, tls, mailbox } = settings as ImapSettings;
      const hasTls = tls ?? true;
      const port = chosenPort ?? (hasTls ? 993 : 143);
      if (!hostPattern.test(host))
        throw new AppError(
          'bad_request',
          `${JSON.stringify(host)} is not a host, such as "mail.example.com".`,
        );
      if (port < 1 || port > 65_535)
        throw new AppError('bad_request', `port is ${port}; it must be from 1 to 65,535.`);
      connections.checkHost(host, port, imapPorts);
      if (!hasTls && !connections.allowsPrivate(host, port))
        throw new AppError(
          'bad_request',
          'Without TLS, only hosts of QUARRY_SOURCE_PRIVATE_HOSTS are allowed, because the password is sent as plain text.',
        );
      if (username === undefined || password === undefined)
        throw new AppError(
          'bad_request',
          'A source of the kind imap needs the credentials username and password.',
        );
      if (![username, password].every((text) => credentialPattern.test(text)))
        throw new AppError(
          'bad_request',
          'The credentials must have 1 to 1,024 characters without control characters.',
        );
      const credentials = { username, password };
      const connection = new ImapConnection({ host, port, hasTls, credentials, connections });
      return new ImapSource({ mailbox: mailbox ?? null, connection });
    },
  };
}

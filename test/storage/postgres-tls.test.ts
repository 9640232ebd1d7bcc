import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectPostgres } from '../../src/storage/postgres-connection.ts';
import { firstCertificate, secondCertificate } from '../http/certificate-pairs.ts';
import { PostgresServer, postgresSkipReason } from '../support/postgres.ts';
import t from '../support/tap.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-postgres-tls-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));

function writeCertificate(name: string, certificate: string): string {
  const path = join(folder, name);
  writeFileSync(path, certificate);
  return path;
}

t.test(
  'the certificate and the host name of PostgreSQL are verified',
  { skip: postgresSkipReason },
  async (t) => {
    const { url } = await PostgresServer.start(t, firstCertificate);
    const root = writeCertificate('first.pem', firstCertificate.certificate);
    const usesTls = (address: string) =>
      connectPostgres(address, async (client) => {
        const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
        await client.end();
        return rows[0].ssl;
      });
    const verified = `${url}?sslmode=verify-full`;
    t.equal(await usesTls(url), false);
    t.equal(await usesTls(`${verified}&sslrootcert=${root}`), true);
    const failures: readonly [address: string, reason: RegExp][] = [
      [verified, /self-signed certificate/],
      [
        `${verified}&sslrootcert=${writeCertificate('second.pem', secondCertificate.certificate)}`,
        /self-signed/,
      ],
      [`${verified}&sslrootcert=${root}`.replace('127.0.0.1', 'localhost'), /localhost. is not in the cert/],
    ];
    for (const [address, reason] of failures)
      await t.rejects(usesTls(address), { code: 'unavailable', cause: { message: reason } });
    const missing = `${verified}&sslrootcert=${join(folder, 'missing.pem')}`;
    await t.rejects(usesTls(missing), {
      code: 'invalid',
      message: /sslrootcert in QUARRY_STORE cannot be read/,
    });
  },
);

t.test('a server without TLS is refused if TLS is required', { skip: postgresSkipReason }, async (t) => {
  const { url } = await PostgresServer.start(t);
  await t.rejects(
    connectPostgres(`${url}?sslmode=verify-full`, (client) => client.end()),
    { code: 'unavailable', cause: { message: /does not support SSL/ } },
  );
});

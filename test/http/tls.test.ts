import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import { describeCertificate } from '../../src/app/certificates.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Logger } from '../../src/core/logger.ts';
import { parseCertificate, readCertificateFiles } from '../../src/http/certificate.ts';
import { CertificateMonitor } from '../../src/http/certificate-monitor.ts';
import t, { type Test } from '../support/tap.ts';
import {
  type CertificatePair,
  encryptedKey,
  firstCertificate,
  secondCertificate,
} from './certificate-pairs.ts';
import { startTestHttpServer } from './fake-services.ts';
import { uwsMissing } from './server-contract.ts';

const trusted = [firstCertificate.certificate, secondCertificate.certificate];

function createFiles(t: Test, pair: CertificatePair) {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-tls-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const files = { certificateFile: join(folder, 'server.pem'), keyFile: join(folder, 'server.key') };
  const write = ({ certificate, key }: CertificatePair) => {
    writeFileSync(files.certificateFile, certificate);
    writeFileSync(files.keyFile, key);
  };
  write(pair);
  return { files, write };
}

function createRecorder() {
  const events: { event: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const record = (fields: Readonly<Record<string, unknown>>, event: string) =>
    void events.push({ event, fields });
  const logger: Logger = { debug: record, info: record, warn: record, error: record, child: () => logger };
  return { events, logger };
}

async function openServer(t: Test, kind: 'uws' | 'node') {
  const { files, write } = createFiles(t, firstCertificate);
  const { events, logger } = createRecorder();
  // The test calls `check`; the timer does not fire.
  const certificates = await CertificateMonitor.open({
    files,
    clock: systemClock,
    logger,
    intervalMs: 2 ** 30,
  });
  const server = await startTestHttpServer(kind, { certificates });
  t.teardown(() => server.close(0));
  return { server, certificates, write, events, files };
}

interface SecureReply {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Common name of the certificate of the server. */
  readonly name: string | string[] | undefined;
  readonly protocol: string | null;
}

async function get(port: number, path: string, agent: Agent): Promise<SecureReply> {
  const sent = request({ port, host: '127.0.0.1', path, agent, headers: { authorization: 'Bearer all' } });
  sent.end();
  const [reply] = await once(sent, 'response');
  const socket = reply.socket as TLSSocket;
  const name = socket.getPeerCertificate().subject.CN;
  const protocol = socket.getProtocol();
  let body = '';
  for await (const part of reply) body += part;
  return { status: reply.statusCode, headers: reply.headers, body, name, protocol };
}

/** Closes its connection after each reply. */
function createAgent(t: Test, keepAlive = false): Agent {
  const agent = new Agent({ keepAlive, maxSockets: 1, ca: trusted });
  t.teardown(() => agent.destroy());
  return agent;
}

for (const kind of ['uws', 'node'] as const) {
  const skip = kind === 'uws' && uwsMissing;

  t.test(`${kind}: HTTPS with HSTS and https URLs`, { skip }, async (t) => {
    const { server } = await openServer(t, kind);
    const reply = await get(server.port, '/docs', createAgent(t));
    t.match(reply, { status: 200, name: 'one.example.com', protocol: 'TLSv1.3' });
    t.equal(reply.headers['strict-transport-security'], 'max-age=31536000');
    const metrics = await get(server.port, '/metrics', createAgent(t));
    t.equal(metrics.status, 200, 'a request from this machine is recognized');
  });

  t.test(`${kind}: TLS 1.2 is the minimum`, { skip }, async (t) => {
    const { server } = await openServer(t, kind);
    const handshake = async (version: SecureVersion) => {
      const socket = connect({
        port: server.port,
        host: '127.0.0.1',
        ca: trusted,
        minVersion: version,
        maxVersion: version,
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      try {
        await once(socket, 'secureConnect');
        return socket.getProtocol();
      } catch (error) {
        return (error as NodeJS.ErrnoException).code;
      } finally {
        socket.destroy();
      }
    };
    t.equal(await handshake('TLSv1.2'), 'TLSv1.2');
    t.match(await handshake('TLSv1.1'), /ERR_SSL/);
    t.match(await handshake('TLSv1'), /ERR_SSL/);
  });

  t.test(`${kind}: plain HTTP is disconnected`, { skip }, async (t) => {
    const { server } = await openServer(t, kind);
    const socket = connectPlain({ port: server.port, host: '127.0.0.1' });
    let received = '';
    socket.setEncoding('latin1').on('data', (part) => (received += part));
    socket.on('error', () => undefined);
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(socket, 'close');
    t.notMatch(received, /200|ok/);
    t.equal((await get(server.port, '/healthz', createAgent(t))).status, 200);
  });

  t.test(
    `${kind}: a replaced certificate serves new connections; open ones continue`,
    { skip },
    async (t) => {
      const { server, certificates, write, events } = await openServer(t, kind);
      const open = createAgent(t, true);
      const names = async (agent: Agent) => (await get(server.port, '/healthz', agent)).name;
      const sockets = new Set<unknown>();
      open.on('free', (socket) => sockets.add(socket));
      t.equal(await names(open), 'one.example.com');
      for (const [pair, name] of [
        [secondCertificate, 'two.example.com'],
        [firstCertificate, 'one.example.com'],
        [secondCertificate, 'two.example.com'],
      ] as const) {
        write(pair);
        await certificates.check();
        t.equal(await names(createAgent(t)), name);
        t.equal(await names(open), 'one.example.com');
      }
      t.equal(sockets.size, 1, 'the first connection served all its requests');
      t.same(
        events.map(({ event }) => event),
        Array(3).fill('TLS certificate replaced'),
      );
    },
  );

  t.test(`${kind}: files that are not valid leave the certificate in use`, { skip }, async (t) => {
    const { server, certificates, write, events } = await openServer(t, kind);
    write({ certificate: secondCertificate.certificate, key: firstCertificate.key });
    await certificates.check();
    await certificates.check();
    t.equal((await get(server.port, '/healthz', createAgent(t))).name, 'one.example.com');
    t.equal(certificates.failures, 1, 'each reason counts once');
    t.match(events, [{ fields: { reason: /does not belong to the certificate/ } }]);
    t.match(describeCertificate(certificates), {
      ready: false,
      detail: /one.example.com.* expires at .*; the changed files are not used: The private key/,
    });
    write(secondCertificate);
    await certificates.check();
    t.equal((await get(server.port, '/healthz', createAgent(t))).name, 'two.example.com');
    t.match(describeCertificate(certificates), {
      ready: true,
      detail: /two.example.com.* expires at 21\d\d-/,
    });
  });
}

t.test('files that are not usable are rejected with the reason and the remedy', async (t) => {
  const { files, write } = createFiles(t, firstCertificate);
  const parse = async (pair: CertificatePair, now = systemClock.now()) => {
    write(pair);
    return parseCertificate(files, await readCertificateFiles(files), now);
  };
  const { certificate, key } = firstCertificate;
  const reject = (result: Promise<unknown>, message: RegExp) =>
    t.rejects(result, { code: 'unavailable', message }, String(message));
  await reject(parse({ certificate: key, key }), /server\.pem has no certificate: a PEM file/);
  await reject(
    parse({ certificate: certificate.replace(/MII.{20}/, 'AAAA'), key }),
    /server\.pem is damaged/,
  );
  await reject(parse({ certificate, key: certificate }), /server\.key has no private key/);
  await reject(parse({ certificate, key: encryptedKey }), /server\.key is encrypted\. Store it without/);
  await reject(parse({ certificate, key: key.replace(/MI.{20}/, 'AAAA') }), /server\.key is damaged/);
  await reject(
    parse({ certificate, key: secondCertificate.key }),
    /server\.key does not belong to the certificate/,
  );
  await reject(
    parse({ certificate: secondCertificate.certificate + certificate, key }),
    /is not the first one in .*server\.pem/,
  );
  await reject(parse(firstCertificate, Date.parse('2200-01-01')), /expired at 21.*Renew it/);
  await reject(parse(firstCertificate, Date.parse('2020-01-01')), /valid only from 20.*Check the clock/);
  const missing = { certificateFile: `${files.certificateFile}-none`, keyFile: files.keyFile };
  await reject(
    readCertificateFiles(missing),
    /QUARRY_TLS_CERTIFICATE_FILE \(.*-none\) cannot be read: the file does not exist \(ENOENT\)/,
  );
  const folder = { certificateFile: files.certificateFile, keyFile: tmpdir() };
  await reject(readCertificateFiles(folder), /QUARRY_TLS_KEY_FILE .* it is a folder/);
  t.match(await parse(firstCertificate), { names: /DNS:one\.example\.com/ });
});

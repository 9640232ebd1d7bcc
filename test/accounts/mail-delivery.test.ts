import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Mailer } from '../../src/accounts/mailer.ts';
import type { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { startMailServer } from '../e2e/people.ts';
import { localEgress } from '../local-egress.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { buildSignIn } from './sign-in-components.ts';

/** Delivery of mail: attacker-controlled text, unresponsive servers, full queues. */

t.test('attacker-controlled text never becomes a mail header or recipient', async (t) => {
  const folder = t.testdir({});
  const { clock, random } = await buildSignIn();
  const mail = new Mailer({
    clock,
    random,
    logger: silentLogger,
    from: 'quarry@example.com',
    print: () => {},
    egress: localEgress,
    closeMsMax: limits.mailCloseMsMax,
    url: pathToFileURL(folder).href,
  });
  const evil = '\r\nBcc: eve@example.com\r\n\r\nEvil body';
  for (const end of [evil, '\nBcc: eve@example.com', '\u2028Bcc: eve@example.com', '\rBcc: eve@example.com'])
    mail.enqueue({ to: 'ada@example.com', subject: `You are invited to Acme${end}`, text: `Hello.${evil}` });
  await mail.close();
  const mails = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  t.equal(mails.length, 4);
  for (const sentMail of mails) {
    const [head = ''] = sentMail.split('\r\n\r\n');
    t.notMatch(head, /^bcc:/im);
    t.equal(head.match(/^to: /gim)?.length, 1);
    t.equal(head.match(/^subject: /gim)?.length, 1);
    t.match(head, /^To: ada@example\.com\r$/m);
  }
});

/** Mailer over SMTP that records its log events. */
async function recordedMail(url: string, closeMsMax: number = limits.mailCloseMsMax, tryMsMax = 60_000) {
  const { clock, random } = await buildSignIn();
  const noted: unknown[] = [];
  const note = (fields: object, event: string) => noted.push({ ...fields, event });
  const logger = { ...silentLogger, info: note, warn: note };
  const from = 'quarry@example.com';
  const mail = new Mailer({
    clock,
    random,
    logger,
    url,
    from,
    print: () => {},
    egress: localEgress,
    closeMsMax,
    attemptMsMax: tryMsMax,
  });
  return { mail, noted };
}

t.test('a permanently rejected message is dropped and the next one sent', async (t) => {
  const { url, mails } = await startMailServer(t, (to) => !to.startsWith('gone@'));
  const { mail, noted } = await recordedMail(url);
  for (const to of ['gone@example.com', 'ada@example.com'])
    mail.enqueue({ to, subject: 'Hello', text: 'Hello.' });
  await waitUntil('the log entries of both messages', () => noted.length === 2);
  await mail.close();
  noted.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
  t.match(noted, [
    { to: 'a…a@example.com', event: 'mail sent' },
    { to: 'g…e@example.com', tries: 1, event: 'mail delivery failed, giving up' },
  ]);
  t.equal(mails().length, 1);
});

t.test('shutdown does not wait for an unresponsive mail server and logs unsent messages', async (t) => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const { mail, noted } = await recordedMail(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const receivers = ['ada@example.com', 'bob@example.com', 'eve@example.com'];
  for (const to of receivers) mail.enqueue({ to, subject: 'Hello', text: 'Hello.' });
  await mail.close();
  const reason = 'server shutdown';
  t.match(
    noted,
    ['a…a', 'b…b', 'e…e'].map((name) => ({
      to: `${name}@example.com`,
      reason,
      event: 'mail delivery failed, giving up',
    })),
  );
  t.equal(noted.length, receivers.length);
  t.equal(sockets.length, limits.mailsRunningPerKeyMax, 'no further connection is opened');
  for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  await mail.close();
});

t.test('mail to an unresponsive domain delays no other mail and times out', async (t) => {
  const held: (() => void)[] = [];
  const release = () => {
    for (const resolve of held.splice(0)) resolve();
  };
  const { url, mails } = await startMailServer(t, () => true, {
    delays: (to) => (to.endsWith('@slow.example') ? new Promise((resolve) => held.push(resolve)) : undefined),
  });
  t.teardown(release);
  // With this timeout, no attempt ends before the other messages are sent, however long that takes.
  const patient = await recordedMail(url, 1_000);
  const post = (to: string, key?: string) =>
    patient.mail.enqueue({ to, subject: 'Hello', text: 'Hello.' }, key);
  for (let i = 0; i < 40; i += 1) post(`nobody${i}@slow.example`);
  for (let i = 0; i < 20; i += 1) post(`ada${i}@example.com`);
  post('bob@slow.example', '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10');
  await waitUntil('the delivery of the messages to the other domain', () => mails().length === 20);
  t.ok(held.length <= 8, 'few messages occupy the slow domain');
  release();
  await patient.mail.close();
  const { mail, noted } = await recordedMail(url, 1_000, 500);
  mail.enqueue({ to: 'eve@slow.example', subject: 'Hello', text: 'Hello.' });
  await waitUntil('the attempt ends', () => /abort|no reply within/i.test(JSON.stringify(noted)));
  release();
  await mail.close();
});

t.test('one sender cannot fill the whole mail queue', async (t) => {
  const { url } = await startMailServer(t, () => true, { delays: () => new Promise(() => {}) });
  const { mail } = await recordedMail(url, 1);
  const post = (to: string, key?: string) => {
    try {
      mail.enqueue({ to, subject: 'Hello', text: 'Hello.' }, key);
      return 200;
    } catch (error) {
      return (error as AppError).status;
    }
  };
  let posted = 0;
  while (post(`nobody${posted}@flood.example`) === 200) posted += 1;
  t.ok(posted >= 1_000 && posted < 1_100, `${posted}`);
  t.equal(post('ada@example.com'), 200);
  t.equal(post('bob@flood.example', 'an organization'), 200);
  t.equal(post('one-more@flood.example'), 503);
  await mail.close();
});

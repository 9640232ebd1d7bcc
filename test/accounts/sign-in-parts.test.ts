import t from 'tap';
import { confirmationPage } from '../../src/accounts/confirmation-page.ts';
import { maskedEmail, normalisedEmail } from '../../src/accounts/email-address.ts';
import { localPath } from '../../src/accounts/redirect.ts';
import { addressKey } from '../../src/admission/address-key.ts';
import { BackOff } from '../../src/admission/back-off.ts';
import { RateWindow } from '../../src/admission/rate-window.ts';
import { AppError } from '../../src/base/app-error.ts';
import { waitWords } from '../../src/base/counted.ts';
import { plainAddress } from '../../src/http/origin.ts';
import { FakeTime } from '../admission/fake-time.ts';

function statusOf(work: () => unknown): number {
  try {
    work();
    return 200;
  } catch (error) {
    if (error instanceof AppError) return error.status;
    throw error;
  }
}

t.test('one address has one spelling', async (t) => {
  const table: readonly (readonly [given: string, normalised: string])[] = [
    ['ada@example.com', 'ada@example.com'],
    ['Ada.Lovelace+news@Example.COM', 'ada.lovelace+news@example.com'],
    ["o'brien@example.co.uk", "o'brien@example.co.uk"],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@BÜCHER.example', 'ada@xn--bcher-kva.example'],
    // A Cyrillic а: another domain, and it looks like one.
    ['ada@ex\u0430mple.com', 'ada@xn--exmple-4nf.com'],
  ];
  for (const [given, normalised] of table) t.equal(normalisedEmail(given), normalised, given);
});

t.test('what is no plain address is refused before anything is done with it', async (t) => {
  const table = [
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@localhost',
    'operator@localhost',
    'ada@example',
    'ada@@example.com',
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com\nBcc: eve@example.com',
    'ada@example.com,eve@example.com',
    'ada@example.com;eve@example.com',
    'Ada <ada@example.com>',
    '<ada@example.com>',
    'ada@example.com (Ada)',
    '"ada"@example.com',
    '"ada lovelace"@example.com',
    'ada lovelace@example.com',
    ' ada@example.com',
    'ada@example.com ',
    'ada\t@example.com',
    'ada@exam ple.com',
    'ada@exam\u200bple.com',
    'ada@-example.com',
    'ada@example-.com',
    'ada@.example.com',
    'ada@example..com',
    '.ada@example.com',
    'ada.@example.com',
    'a..da@example.com',
    '\u0430da@example.com',
    '\u212aate@example.com',
    'ad\u0131@example.com',
    '\uff41da@example.com',
    'ada@127.0.0.1',
    'ada@[127.0.0.1]',
    'ada@example.com/evil',
    'ada@example.com?x',
    'ada@example.com#x',
    'ada@example.com:25',
    'ada@exa%6dple.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'a'.repeat(64)}.com`,
    `ada@${'a.'.repeat(124)}example.com`,
    'ada@example.com\0',
    'ada\ud800@example.com',
  ];
  for (const given of table)
    t.equal(
      statusOf(() => normalisedEmail(given)),
      422,
      JSON.stringify(given),
    );
});

t.test('a masked address shows little of it', async (t) => {
  t.equal(maskedEmail('ada@example.com'), 'a…a@example.com');
  t.equal(maskedEmail('ab@example.com'), '…@example.com');
});

t.test('a browser is sent to paths of this server only', async (t) => {
  for (const path of ['/', '/app/', '/app/x?y=1&z=%2F#part', '/docs']) t.equal(localPath(path), path);
  const evil = [
    '',
    'app',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '\\\\evil.example',
    '/\\/evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r/evil.example',
    '\t//evil.example',
    ' //evil.example',
    '/ /evil.example',
    'https:evil.example',
    'https:/evil.example',
    'https://evil.example',
    'HTTPS://evil.example',
    'http://user@evil.example',
    '//user:word@evil.example',
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '/\u0000/evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/./\\evil.example',
    '/a/..//evil.example',
    '//еvil.example',
    '//evil。example',
    '/\u200b/evil.example',
    '/\u2028/evil.example',
    `/${'x'.repeat(2_100)}`,
    '?x',
    '#x',
    '.',
    '..//evil.example',
    '/\ud800',
  ];
  for (const target of evil)
    t.equal(
      statusOf(() => localPath(target)),
      400,
      encodeURI(target.toWellFormed()).slice(0, 40),
    );
});

t.test('attempts are counted within each window, by key, and the wait is told', async (t) => {
  const clock = new FakeTime();
  const attempts = new RateWindow(
    'tries',
    [
      { ms: 60_000, max: 1 },
      { ms: 3_600_000, max: 3 },
    ],
    clock,
  );
  attempts.take('a');
  t.throws(() => attempts.take('a'), { code: 'rate_limited', options: { retryAfterMs: 60_000 } });
  attempts.take('b');
  for (let i = 0; i < 2; i += 1) {
    await clock.advance(60_000);
    attempts.take('a');
  }
  await clock.advance(60_000);
  t.throws(() => attempts.take('a'), { message: /57 minutes/ }, 'the hour is used up');
  await clock.advance(57 * 60_000);
  attempts.take('a');
});

t.test('wrong tries wait longer and longer, a right one forgets them', async (t) => {
  const clock = new FakeTime();
  const backOff = new BackOff(clock);
  const waits: number[] = [];
  for (let i = 0; i < 15; i += 1) {
    backOff.failed(['admin']);
    let waited = 0;
    while (statusOf(() => backOff.check(['admin', 'host'])) === 429) {
      await clock.advance(1_000);
      waited += 1;
    }
    waits.push(waited);
  }
  t.same(waits, [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  backOff.succeeded(['admin']);
  backOff.failed(['admin']);
  t.equal(
    statusOf(() => backOff.check(['admin'])),
    200,
  );
});

t.test('hosts of one IPv6 network count as one', async (t) => {
  t.equal(addressKey('192.0.2.1'), '192.0.2.1');
  t.equal(addressKey('2001:db8:1:2:3:4:5:6'), addressKey('2001:0db8:0001:0002::9'));
  t.not(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'));
  const mapped = ['::ffff:192.0.2.1', '0000:0000:0000:0000:0000:ffff:c000:0201', '0:0:0:0:0:FFFF:c000:201'];
  for (const each of mapped) t.equal(addressKey(plainAddress(each)), '192.0.2.1', each);
  for (const each of ['192.0.2.1', '2001:db8::1', '::1', '::ffff:x', '', '1::ffff:c000:0201'])
    t.equal(plainAddress(each), each);
});

t.test('nothing from a request can become markup of the confirmation page', async (t) => {
  const html = confirmationPage({ action: '/x', token: '"><script>', confirmation: "'", who: '<b>&' });
  t.notMatch(html, /<script|<b>/);
  t.match(html, /&quot;&gt;&lt;script&gt;/);
  t.match(html, /&lt;b&gt;&amp;/);
});

t.test('times to wait are whole words', async (t) => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '1 second'],
    [1_000, '1 second'],
    [1_001, '2 seconds'],
    [119_000, '119 seconds'],
    [120_000, '2 minutes'],
    [900_000, '15 minutes'],
  ];
  for (const [ms, words] of cases) t.equal(waitWords(ms), words);
  const clock = new FakeTime();
  const backOff = new BackOff(clock);
  for (let i = 0; i < 3; i += 1) backOff.failed(['a']);
  t.throws(() => backOff.check(['a']), { message: 'Too many wrong tries; wait 1 second and try again.' });
});

import { renderConfirmationPage } from '../../src/accounts/confirmation-page.ts';
import { maskEmail, normalizeEmail } from '../../src/accounts/email-address.ts';
import { parseLocalPath } from '../../src/accounts/local-path.ts';
import { rateLimitAddress } from '../../src/admission/address-key.ts';
import { ExponentialBackoff } from '../../src/admission/exponential-backoff.ts';
import { SlidingWindowLimiter } from '../../src/admission/sliding-window-limiter.ts';
import { AppError } from '../../src/core/app-error.ts';
import { formatWait } from '../../src/core/format.ts';
import { normalizeAddress } from '../../src/http/origin.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

function statusOf(work: () => unknown): number {
  try {
    work();
    return 200;
  } catch (error) {
    if (error instanceof AppError) return error.status;
    throw error;
  }
}

t.test('email addresses are normalized to one spelling', async (t) => {
  const table: readonly (readonly [given: string, normalized: string])[] = [
    ['ada@example.com', 'ada@example.com'],
    ['Ada.Lovelace+news@Example.COM', 'ada.lovelace+news@example.com'],
    ["o'brien@example.co.uk", "o'brien@example.co.uk"],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@BÜCHER.example', 'ada@xn--bcher-kva.example'],
    // Contains a Cyrillic а: a different domain that looks the same.
    ['ada@ex\u0430mple.com', 'ada@xn--exmple-4nf.com'],
  ];
  for (const [input, normalized] of table) t.equal(normalizeEmail(input), normalized, input);
});

t.test('an invalid email address is rejected before it is used', async (t) => {
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
  for (const input of table)
    t.equal(
      statusOf(() => normalizeEmail(input)),
      422,
      JSON.stringify(input),
    );
});

t.test('a masked address reveals little', async (t) => {
  t.equal(maskEmail('ada@example.com'), 'a…a@example.com');
  t.equal(maskEmail('ab@example.com'), '…@example.com');
});

t.test('browsers are redirected to paths of this server only', async (t) => {
  for (const path of ['/', '/app/', '/app/x?y=1&z=%2F#part', '/docs']) t.equal(parseLocalPath(path), path);
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
      statusOf(() => parseLocalPath(target)),
      400,
      encodeURI(target.toWellFormed()).slice(0, 40),
    );
});

t.test('attempts are counted by key in each window, and the reply has the time to wait', async (t) => {
  const clock = new FakeClock();
  const attempts = new SlidingWindowLimiter(
    'tries',
    [
      { ms: 60_000, max: 1 },
      { ms: 3_600_000, max: 3 },
    ],
    clock,
  );
  attempts.consume('a');
  t.throws(() => attempts.consume('a'), { code: 'rate_limited', options: { retryAfterMs: 60_000 } });
  attempts.consume('b');
  for (let i = 0; i < 2; i += 1) {
    await clock.advance(60_000);
    attempts.consume('a');
  }
  await clock.advance(60_000);
  t.throws(() => attempts.consume('a'), { message: /57 minutes/ }, 'the hourly limit is reached');
  await clock.advance(57 * 60_000);
  attempts.consume('a');
});

t.test('failed attempts back off, and a successful one resets them', async (t) => {
  const clock = new FakeClock();
  const exponentialBackoff = new ExponentialBackoff(clock);
  const waits: number[] = [];
  for (let i = 0; i < 15; i += 1) {
    exponentialBackoff.recordFailure(['admin']);
    let waited = 0;
    while (statusOf(() => exponentialBackoff.check(['admin', 'host'])) === 429) {
      await clock.advance(1_000);
      waited += 1;
    }
    waits.push(waited);
  }
  t.same(waits, [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  exponentialBackoff.reset(['admin']);
  exponentialBackoff.recordFailure(['admin']);
  t.equal(
    statusOf(() => exponentialBackoff.check(['admin'])),
    200,
  );
});

t.test('hosts of one IPv6 network are limited together', async (t) => {
  t.equal(rateLimitAddress('192.0.2.1'), '192.0.2.1');
  t.equal(rateLimitAddress('2001:db8:1:2:3:4:5:6'), rateLimitAddress('2001:0db8:0001:0002::9'));
  t.not(rateLimitAddress('2001:db8:1:2::1'), rateLimitAddress('2001:db8:1:3::1'));
  const mapped = ['::ffff:192.0.2.1', '0000:0000:0000:0000:0000:ffff:c000:0201', '0:0:0:0:0:FFFF:c000:201'];
  for (const each of mapped) t.equal(rateLimitAddress(normalizeAddress(each)), '192.0.2.1', each);
  for (const each of ['192.0.2.1', '2001:db8::1', '::1', '::ffff:x', '', '1::ffff:c000:0201'])
    t.equal(normalizeAddress(each), each);
});

t.test('request data cannot inject markup into the confirmation page', async (t) => {
  const html = renderConfirmationPage({
    action: '/x',
    token: '"><script>',
    confirmation: "'",
    accountLabel: '<b>&',
  });
  t.notMatch(html, /<script|<b>/);
  t.match(html, /&quot;&gt;&lt;script&gt;/);
  t.match(html, /&lt;b&gt;&amp;/);
});

t.test('waiting times are formatted as text', async (t) => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '1 second'],
    [1_000, '1 second'],
    [1_001, '2 seconds'],
    [119_000, '119 seconds'],
    [120_000, '2 minutes'],
    [900_000, '15 minutes'],
  ];
  for (const [ms, words] of cases) t.equal(formatWait(ms), words);
  const clock = new FakeClock();
  const exponentialBackoff = new ExponentialBackoff(clock);
  for (let i = 0; i < 3; i += 1) exponentialBackoff.recordFailure(['a']);
  t.throws(() => exponentialBackoff.check(['a']), {
    message: 'Too many failed attempts. Try again in 1 second.',
  });
});

import { parsePostgresUrl } from '../../src/core/postgres-url.ts';
import t from '../support/tap.ts';

t.test('the parts of a URL', async (t) => {
  t.same(parsePostgresUrl('postgres://u%40x:p%2Fw@127.0.0.1:6432/data%20base'), {
    host: '127.0.0.1',
    port: 6432,
    user: 'u@x',
    password: 'p/w',
    database: 'data base',
    tls: null,
  });
  const url = 'postgresql://quarry@db.example?sslmode=verify-full&sslrootcert=/etc/ca.pem';
  t.match(parsePostgresUrl(url), {
    host: 'db.example',
    port: 5432,
    user: 'quarry',
    password: null,
    database: 'quarry',
    tls: { rootCertificateFile: '/etc/ca.pem' },
  });
  t.match(parsePostgresUrl('postgres://u@db.example/d?sslmode=verify-full'), {
    tls: { rootCertificateFile: null },
  });
  for (const host of ['localhost', '[::1]', '127.8.0.1'])
    t.equal(parsePostgresUrl(`postgres://u@${host}/d`).tls, null);
  t.equal(parsePostgresUrl('postgres://u@[::1]/d?sslmode=disable').host, '::1');
});

t.test('a connection to another machine without verified TLS is refused', async (t) => {
  const expected = { code: 'invalid', message: /without verified TLS; add sslmode=verify-full/ };
  for (const mode of ['', '?sslmode=require', '?sslmode=verify-ca', '?sslmode=disable', '?sslmode=no-verify'])
    t.throws(() => parsePostgresUrl(`postgres://u:secret@10.0.0.1/d${mode}`), expected);
  for (const host of ['127.0.0.1.example', 'localhost.example', '0.0.0.0', '[::]'])
    t.throws(() => parsePostgresUrl(`postgres://u@${host}/d`), expected);
});

t.test('an address that would be misunderstood is refused, without showing the password', async (t) => {
  const rejected: readonly [url: string, problem: RegExp][] = [
    ['mysql://u@localhost/d', /does not start with postgres/],
    ['postgres://u:secret@localhost:99999/d', /is not a URL/],
    ['postgres:///d', /has no host/],
    ['postgres://localhost/d', /has no user/],
    ['postgres://u:%zz@localhost/d', /percent sign/],
    [
      'postgres://u:secret@localhost/d?host=elsewhere.example',
      /has the parameter host; supported are sslmode/,
    ],
    ['postgres://u:secret@localhost/d?sslmode=require', /has sslmode=require/],
    ['postgres://u@localhost/d?sslrootcert=/ca', /sslrootcert without sslmode/],
  ];
  for (const [url, message] of rejected)
    try {
      parsePostgresUrl(url);
      t.fail(url);
    } catch (error) {
      t.match(error, { code: 'invalid', message });
      t.notMatch((error as Error).message, /secret/);
    }
});

import t from 'tap';
import {
  giveUser,
  holdUser,
  newSandboxUsers,
  sandboxUserIds,
  takeUser,
} from '../../src/parsing/sandbox-users.ts';

t.test('no number is given twice, and one that came back rests behind all others', async (t) => {
  const users = newSandboxUsers();
  const first = takeUser(users);
  giveUser(users, first);
  const taken = Array.from({ length: sandboxUserIds.count }, () => takeUser(users));
  t.equal(new Set(taken).size, sandboxUserIds.count);
  t.equal(taken.at(-1), first);
  t.throws(() => takeUser(users), /all 1000 users of the sandbox are in use/);
  giveUser(users, taken[7]!);
  t.equal(takeUser(users), taken[7]);
});

t.test('a number whose process ended without giving it back is used when no other is left', async (t) => {
  const users = newSandboxUsers();
  const taken = Array.from({ length: sandboxUserIds.count }, () => takeUser(users));
  for (const userId of taken) holdUser(users, userId, process.pid);
  // Greater than any process id of the kernel.
  holdUser(users, taken[3]!, 0x7fffffff);
  t.equal(takeUser(users), taken[3]);
  t.throws(() => takeUser(users), /in use/);
});

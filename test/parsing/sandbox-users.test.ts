import {
  allocateUser,
  assignUser,
  newSandboxUsers,
  releaseUser,
  sandboxUserIds,
} from '../../src/parsing/sandbox-users.ts';
import t from '../support/tap.ts';

t.test('user ids are unique, and a released one is reused last', async (t) => {
  const users = newSandboxUsers();
  const first = allocateUser(users);
  releaseUser(users, first);
  const taken = Array.from({ length: sandboxUserIds.count }, () => allocateUser(users));
  t.equal(new Set(taken).size, sandboxUserIds.count);
  t.equal(taken.at(-1), first);
  t.throws(() => allocateUser(users), /all 1000 sandbox users are in use/);
  releaseUser(users, taken[7]!);
  t.equal(allocateUser(users), taken[7]);
});

t.test(
  'the user id of a process that ended without releasing it is reused when no other is free',
  async (t) => {
    const users = newSandboxUsers();
    const taken = Array.from({ length: sandboxUserIds.count }, () => allocateUser(users));
    for (const userId of taken) assignUser(users, userId, process.pid);
    // Greater than any process id of the kernel.
    assignUser(users, taken[3]!, 0x7fffffff);
    t.equal(allocateUser(users), taken[3]);
    t.throws(() => allocateUser(users), /in use/);
  },
);

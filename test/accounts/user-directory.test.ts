import { limits } from '../../src/core/limits.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { Users } from '../../src/storage/users.ts';
import t from '../support/tap.ts';
import { accountComponents } from './account-components.ts';

/** More users than one reply searches. */
const many = 2 * limits.usersSearchedMax + 10;

async function build() {
  const store = new MemoryStore();
  const records = new Users(store);
  const { directory } = accountComponents(store);
  for (let i = 0; i < many; i += 1) {
    const userId = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const times = { createdAt: 0, lastLoginAt: 0 };
    const profile = { name: i === many - 1 ? 'Zoe Last' : null, avatarUrl: null, company: null };
    await store.write(records.create({ userId, email: `user-${i}@example.com`, ...profile, ...times }));
  }
  const find = async (search: string | null, limit: number) => {
    const found: string[] = [];
    let [after, replies]: [string | null, number] = [null, 0];
    do {
      const page = await directory.listAfter(after, { limit, search });
      found.push(...page.entries.map(({ user }) => user.email));
      after = page.next;
      replies += 1;
    } while (after !== null);
    return { found, replies };
  };
  return { find };
}

t.test('a search covers all users', async (t) => {
  const { find } = await build();
  const last = `user-${many - 1}@example.com`;
  for (const search of [last, last.toUpperCase(), 'zoe l']) {
    const { found, replies } = await find(search, 100);
    t.same(found, [last], search);
    t.equal(replies, 3, 'each reply covers a part of the list');
  }
  const expected = Array.from({ length: many }, (_, i) => `user-${i}@example.com`);
  const nines = expected.filter((email) => email.includes('99'));
  t.same((await find('99', 7)).found, nines, 'no match is missing or repeated at page boundaries');
  t.same((await find(null, 1_000)).found, expected);
  t.same(await find('nobody', 100), { found: [], replies: 3 });
});

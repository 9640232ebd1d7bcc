import { createUuidV7, systemRandom, uuidPattern } from '../../src/core/ids.ts';
import t from '../support/tap.ts';

t.test('ids that start with the time sort by their creation', async (t) => {
  const times = [0, 1.5, 0xffff, 1_760_000_000_000, 1_760_000_000_001, 2 ** 48 - 1];
  const ids = times.map((now) => createUuidV7(now, systemRandom.uuid()));
  t.strictSame([...ids].sort(), ids);
});

t.test(
  'an id that starts with the time is a version 7 UUID and contains the given random bits',
  async (t) => {
    const id = createUuidV7(0x0123_4567_89ab, 'ffffffff-ffff-4abc-9def-0123456789ab');
    t.equal(id, '01234567-89ab-7abc-9def-0123456789ab');
    t.match(id, uuidPattern);
    t.not(createUuidV7(1, systemRandom.uuid()), createUuidV7(1, systemRandom.uuid()));
  },
);

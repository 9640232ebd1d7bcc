import { test } from 'tap';
import { createUuidV7, systemRandom, uuidPattern } from '../../src/core/ids.ts';

test('ids with the time in front sort by when they were made', async (t) => {
  const times = [0, 1.5, 0xffff, 1_760_000_000_000, 1_760_000_000_001, 2 ** 48 - 1];
  const ids = times.map((now) => createUuidV7(now, systemRandom.uuid()));
  t.strictSame([...ids].sort(), ids);
});

test('an id with the time in front is a UUID of version 7 and keeps the chance it was given', async (t) => {
  const id = createUuidV7(0x0123_4567_89ab, 'ffffffff-ffff-4abc-9def-0123456789ab');
  t.equal(id, '01234567-89ab-7abc-9def-0123456789ab');
  t.match(id, uuidPattern);
  t.not(createUuidV7(1, systemRandom.uuid()), createUuidV7(1, systemRandom.uuid()));
});

import t, { type Test } from 'tap';
import { openTestDoor, type TestDoor, type TestDoorOptions } from './fakes.ts';
import { RawClient } from './raw-client.ts';

/** Some of the tests wait for a time-out of a server, so they run side by side. */
t.jobs = 6;

export const megabyte = 1_048_576;
export const listPath = '/v1/collections/get-collection-list';
export const addPath = '/v1/documents/add-document';

export interface Stage {
  readonly t: Test;
  readonly kind: 'uws' | 'node';
  readonly open: (options?: TestDoorOptions) => Promise<TestDoor>;
  readonly connect: (door: TestDoor) => Promise<RawClient>;
}

/** Runs a test against both servers: what a client may rely on, whichever of them is running. */
export function contract(title: string, run: (stage: Stage) => Promise<void>): void {
  for (const kind of ['uws', 'node'] as const) {
    t.test(`${kind}: ${title}`, async (t) => {
      const open = async (options?: TestDoorOptions) => {
        const door = await openTestDoor(kind, options);
        t.teardown(() => door.close(0));
        return door;
      };
      const connect = async (door: TestDoor) => {
        const client = await RawClient.open(door.port);
        t.teardown(() => client.close());
        return client;
      };
      await run({ t, kind, open, connect });
    });
  }
}

/** A service waits at it until the test lets it go. */
export function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

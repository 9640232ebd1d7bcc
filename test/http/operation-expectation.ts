import type { ExpectedStatuses } from './expected-statuses.ts';
import type { CallInput } from './operation-inputs.ts';
import type { ResourceIds, TenantFixture } from './tenant-fixture.ts';

export interface OperationExpectation {
  readonly expected: ExpectedStatuses;
  readonly buildInput: (names: ResourceIds, fresh: string, fixture: TenantFixture) => CallInput;
  /** Creates the resource that a permitted call consumes. */
  readonly prepare?: (fixture: TenantFixture, fresh: string) => Promise<Partial<ResourceIds>>;
}

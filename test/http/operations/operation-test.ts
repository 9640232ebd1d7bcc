import type { TSchema } from 'typebox';
import type { BodyKind } from '../../../src/admission/body-limits.ts';
import type { ResourceIds, TenantFixture } from '../tenant-fixture.ts';
import type { ExpectedStatuses } from './expected-statuses.ts';
import type { CallInput } from './inputs.ts';

/**
 * Everything that tests know about one operation. `expected`, `bodyKind` and `published` repeat what its route declares,
 * so that a mistake in the route cannot change the test, too.
 */
export interface OperationTest {
  readonly expected: ExpectedStatuses;
  /** Default: the example of the documentation, with the ids of the fixture. */
  readonly buildInput?: (names: ResourceIds, fresh: string, fixture: TenantFixture) => CallInput;
  /** Creates the resource that a permitted call consumes. */
  readonly prepare?: (fixture: TenantFixture, fresh: string) => Promise<Partial<ResourceIds>>;
  /** For operations with larger bodies than others. */
  readonly bodyKind?: BodyKind;
  /** Contract of an operation that `CheckedApiClient` can call. */
  readonly published?: PublishedContract;
  /**
   * How `recorded-replies.jsonl` keeps the reply. `none`: not at all, for pages that are generated from the code and
   * values of the machine, which other tests check. `sorted`: with sorted lists, for lists in the order of random ids.
   */
  readonly recording?: 'none' | 'sorted';
  readonly sample?: SampleRun;
  /** Whether the operation ends the session of its caller; it is then called last. */
  readonly endsSession?: true;
}

export type OperationTests = Readonly<Record<string, OperationTest>>;

/** Path and reply of a `POST` operation that clients were generated from. */
export interface PublishedContract<P extends string = string, R extends TSchema = TSchema> {
  /** Below the prefix `/v1`, without a slash at its start. */
  readonly path: P;
  /** Names, types, required and nullable fields. Additional fields are allowed. */
  readonly reply: R;
}

/** How `test/docs/samples.slow.ts` runs the code samples of the documentation. */
interface SampleRun {
  /** Samples run in this order; default: 0. Negative: others need its effect; positive: it removes what others need. */
  readonly order?: number;
  /** Status of the sample; default: the status for a caller with access. */
  readonly status?: number;
}

export function published<const P extends string, R extends TSchema>(
  path: P,
  reply: R,
): PublishedContract<P, R> {
  return { path, reply };
}

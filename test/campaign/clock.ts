import { setTimeout as wait } from 'node:timers/promises';
import { createMailFolder, TestUser } from '../e2e/people.ts';
import { FaultLibrary } from './fault-library.ts';
import { dataFolderOf, ModelRun } from './model-run.ts';
import type { Measurements, Part, PartContext } from './part.ts';

const defaultMinutes = 5;
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** Offsets from the real time to which the clock jumps. */
const jumps = [
  ...[-400 * day, -40 * day, -day, -hour, -90 * second, 90 * second],
  ...[hour, day, 6 * day, 40 * day, 400 * day, 4_000 * day],
] as const;
/** Time limit for indexing one small document, independent of the clock of the server. */
const stuckMsMax = 60_000;
/** Time for the hourly work to start; it may finish later. */
const sweepWaitMs = 1_500;

/** The wall clock of a server jumps forward and back, including across restarts. */
export const clockPart: Part = {
  name: 'clock',
  description: 'the wall clock jumps forward and back by seconds to years, with and without a restart',
  guarantees: [
    { name: 'documents', text: 'no document is lost, and search agrees with the store' },
    { name: 'accounts', text: 'sessions, API keys, members and the audit log remain' },
    { name: 'progress', text: 'documents are indexed and calls succeed at any time of the clock' },
  ],
  async run(context) {
    if (process.platform !== 'linux') return skipAll(context, 'changing the clock requires Linux');
    let library: FaultLibrary;
    try {
      library = FaultLibrary.build(context.folder, dataFolderOf(context));
    } catch (error) {
      return skipAll(context, `the clock library cannot be built: ${(error as Error).message}`);
    }
    context.onCleanup(() => library.close());
    return new ClockJumpRun(context, library).run();
  },
};

function skipAll(context: PartContext, reason: string): Measurements {
  for (const { name } of clockPart.guarantees) context.skip(name, reason);
  return {};
}

class ClockJumpRun {
  readonly #context: PartContext;
  readonly #library: FaultLibrary;
  readonly #modelRun: ModelRun;
  readonly #user: TestUser;
  readonly #counts = new Map<string, number>();
  #organization = '';
  #auditEntryIds: readonly string[] = [];
  #rounds = 0;
  #slowestDocumentMs = 0;

  constructor(context: PartContext, library: FaultLibrary) {
    this.#context = context;
    this.#library = library;
    const box = createMailFolder({ teardown: (action) => context.onCleanup(action as () => unknown) });
    const variables = { ...library.environment, QUARRY_MAIL_URL: box.url };
    this.#modelRun = new ModelRun(context, {
      guarantee: 'documents',
      data: dataFolderOf(context),
      variables,
    });
    const run = this.#modelRun;
    const current = {
      get url() {
        return run.server.url;
      },
    };
    this.#user = new TestUser('ada@example.com', current, box.mails);
  }

  async run(): Promise<Measurements> {
    const { size, signal } = this.#context;
    await this.#modelRun.start();
    await this.#signUp();
    await this.#modelRun.workFor(500);
    const isDone = () => {
      if (signal.aborted || (size.rounds !== null && this.#rounds >= size.rounds)) return true;
      // At least one round must run, or the part checks nothing.
      const isBounded = size.rounds === null || size.minutes !== null;
      return this.#rounds > 0 && isBounded && this.#context.isOver(defaultMinutes);
    };
    let isPlanted = !this.#context.plantsFault;
    while (!(isDone() && isPlanted) && !signal.aborted) {
      await this.#round();
      isPlanted ||= await this.#modelRun.loseDocument();
      await this.#modelRun.checkAgainstModel();
      await this.#checkAccounts();
      this.#context.progress(
        `round ${this.#rounds}, ${this.#modelRun.model.acknowledged} writes acknowledged`,
      );
    }
    return {
      rounds: this.#rounds,
      acknowledgedWrites: this.#modelRun.model.acknowledged,
      auditEntries: this.#auditEntryIds.length,
      slowestDocumentMs: Math.round(this.#slowestDocumentMs),
      ...Object.fromEntries(this.#counts),
    };
  }

  async #signUp(): Promise<void> {
    await this.#expect('signing in', () => this.#user.signIn());
    const organization = await this.#user.call('organizations/add-organization', { name: 'Clock' });
    this.#organization = organization.body.organization_id;
    for (const name of ['one', 'two']) {
      const body = { organization_id: this.#organization, name, permission: 'all' };
      await this.#expect('a key', () => this.#user.call('organizations/api-keys/add-api-key', body));
    }
    this.#auditEntryIds = await this.#auditEntries();
  }

  async #expect(what: string, call: () => Promise<{ status: number; text: string }>): Promise<void> {
    const { status, text } = await call();
    if (status >= 300) throw new Error(`${what} returned ${status}: ${text}`);
  }

  /** Moves the clock, works, restarts in one of three rounds under the moved clock, then restores the clock. */
  async #round(): Promise<void> {
    const { random } = this.#context;
    this.#rounds += 1;
    const jump = jumps[random.below(jumps.length)]!;
    const isRestarted = random.below(3) === 0;
    const description = `rounds ${jump > 0 ? '+' : ''}${Math.round(jump / 1_000)} s`;
    this.#counts.set(description, (this.#counts.get(description) ?? 0) + 1);
    this.#modelRun.startWork();
    await wait(random.below(200));
    this.#library.moveClock(jump);
    await wait(200 + random.below(600));
    await this.#modelRun.stopWork();
    await this.#addsDocument(jump);
    if (isRestarted) await this.#restart();
    // Runs the hourly work of the server under the moved clock.
    this.#library.advanceTimers(61 * minute);
    await wait(sweepWaitMs);
    this.#library.moveClock(0);
    if (isRestarted) await this.#restart();
    await this.#addsDocument(0);
  }

  async #restart(): Promise<void> {
    await this.#modelRun.kill();
    await this.#modelRun.start();
    await this.#modelRun.workFor(100);
  }

  /** A small document must be indexed within `stuckMsMax`, and a model call must succeed. */
  async #addsDocument(jump: number): Promise<void> {
    const { server } = this.#modelRun;
    const started = performance.now();
    const collection_name = 'clock';
    const path = `${this.#rounds}.txt`;
    await server.call('collections/add-collection', { collection_name });
    const content = { type: 'text', text: `Round ${this.#rounds} of the clock.` };
    await server.call('documents/add-document', { collection_name, path, content, overwrite: true });
    for (;;) {
      const { body } = await server.call('documents/get-document-info', { collection_name, path });
      if (body.document?.index_status === 'indexed') break;
      if (performance.now() - started > stuckMsMax) {
        this.#context.violate('progress', `at ${jump} ms a document is ${body.document?.index_status}`, body);
        break;
      }
      await wait(20);
    }
    this.#slowestDocumentMs = Math.max(this.#slowestDocumentMs, performance.now() - started);
    const embed = { model: 'zembed-1', input_type: 'query', input: 'the tide' };
    const { status } = await server.call('models/embed', embed);
    if (status !== 200) this.#context.violate('progress', `at ${jump} ms a model call returned ${status}`);
    await server.call('collections/delete-collection', { collection_name });
  }

  async #auditEntries(): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
      const body = { organization_id: this.#organization, cursor, limit: 50 };
      const page = await this.#user.call('organizations/get-audit-log', body);
      if (page.status !== 200) throw new Error(`the audit log returned ${page.status}: ${page.text}`);
      ids.push(...page.body.entries.map(({ id }: { id: string }) => id));
      cursor = page.body.next_cursor;
    }
    return ids;
  }

  /** With the clock restored, all account data from before the jumps must exist. */
  async #checkAccounts(): Promise<void> {
    const { status, text } = await this.#user.call('users/get-user');
    if (status !== 200) {
      this.#context.violate('accounts', `the session returned ${status}`, text);
      await this.#expect('signing in again', () => this.#user.signIn());
    }
    const body = { organization_id: this.#organization };
    const info = await this.#user.call('organizations/get-info', body);
    const keys = info.body?.api_keys?.length ?? 0;
    if (info.status !== 200 || keys !== 2)
      this.#context.violate('accounts', `the organization has ${keys} keys (${info.status})`, info.text);
    const entries = await this.#auditEntries();
    const missing = this.#auditEntryIds.filter((id) => !entries.includes(id));
    if (missing.length > 0) this.#context.violate('accounts', `${missing.length} audit entries are missing`);
    this.#auditEntryIds = entries;
  }
}

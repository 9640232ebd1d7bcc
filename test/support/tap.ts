import './no-async-hooks.ts';
import rootTest, { type Test } from 'tap';

let current: Test = rootTest;

/** Makes `test` the receiver of the tests that a file defines from now on. */
export function setFileTest(test: Test): void {
  current = test;
}

/**
 * The only import of tap. Its 150 modules would take two thirds of the CPU time of a small test file, so the build
 * bundles them into the compiled form of this file.
 *
 * The test of the file that is loaded: tap's root, or a subtest of it where several files share a process.
 */
const t: Test = new Proxy(rootTest, {
  get: (_root, name) => {
    const value: unknown = Reflect.get(current, name, current);
    return typeof value === 'function' ? value.bind(current) : value;
  },
  set: (_root, name, value) => Reflect.set(current, name, value, current),
});
export default t;
export type { Test } from 'tap';
export { rootTest };

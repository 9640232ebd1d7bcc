import './no-async-hooks.ts';
import t from 'tap';

/**
 * The only import of tap. Its 150 modules would take two thirds of the CPU time of a small test file, so the build
 * bundles them into the compiled form of this file.
 */
export default t;
export type { Test } from 'tap';

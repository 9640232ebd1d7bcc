import asyncHooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Keeps tap from watching every promise and timer. It would use their hooks to assign an uncaught error to a subtest,
 * which takes up to half of the CPU time of a test file. Without them the error ends the file, which fails.
 */
asyncHooks.createHook = () => {
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};
syncBuiltinESMExports();

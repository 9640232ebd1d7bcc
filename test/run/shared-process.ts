import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rootTest, setFileTest } from '../support/tap.ts';

/**
 * `QUARRY_TEST_FILES='FILE...' node dist/test/run/shared-process.js` runs test files one after the other, each as a subtest
 * with the name of the file. Files of 150 ms take half of the CPU time of one process per file, which loads Node.js, tap
 * and the tested modules again.
 */
const files = (process.env.QUARRY_TEST_FILES ?? '').split(' ');
delete process.env.QUARRY_TEST_FILES;
for (const file of files) {
  void rootTest.test(file, async (fileTest) => {
    setFileTest(fileTest);
    await import(pathToFileURL(join(process.cwd(), file)).href);
  });
}

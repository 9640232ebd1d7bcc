import { heapFlags } from '../../bench/harness/heap-flags.ts';

/** First words of a command that starts a server: Node.js with the flags of `npm start`. */
export const serverNode: readonly string[] = [process.execPath, ...heapFlags];

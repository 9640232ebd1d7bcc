import { enumSetting, integerSetting, type Setting } from '../setting.ts';

const threadsSetting = (purpose: string, defaultMeaning: string) =>
  integerSetting(1, 256, null, { meaning: `Threads that ${purpose}`, unit: 'threads', defaultMeaning });

/** Worker threads and the search engine. */
export const threadSettings = {
  parseThreads: threadsSetting('parse files, each with its own parser process', 'half the cores, 1 to 8'),
  chunkThreads: threadsSetting('chunk, analyze and embed documents', 'half the cores, 1 to 16'),
  embedThreads: threadsSetting(
    'embed long queries and the input of the embed operation',
    'half the cores, 1 to 16',
  ),
  rerankThreads: threadsSetting('run rerankers', 'a quarter of the cores, 1 to 8'),
  searchThreads: threadsSetting('search the shards', 'the number of cores, at most 64'),
  engineKernels: enumSetting(['auto', 'avx512', 'avx2', 'neon', 'scalar'], 'auto', {
    meaning: 'SIMD instruction set of the search engine; auto selects the fastest one available',
  }),
  searchRecall: integerSetting(500, 999, 990, {
    unit: 'per mille',
    meaning: 'Target recall of vector search; higher is slower',
  }),
} satisfies Record<string, Setting>;

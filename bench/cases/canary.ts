import { createHash } from 'node:crypto';
import type { BenchCase } from '../harness/bench-case.ts';
import { ownCpuMs } from '../harness/cpu-time.ts';
import { spreadOf } from '../harness/statistics.ts';

const blockBytes = 1 << 20;
const bytesPerSecond = 200e6;

/**
 * Work of known length: does `--compare` see it when a thing gets slower? `--handicap 2` does twice the work for the
 * same figure, so a comparison with an earlier run has to call it a regression.
 */
export const canaryCase: BenchCase = {
  name: 'canary',
  summary: 'work of known length; with --handicap a regression that --compare has to find',
  presets: {
    smoke: '--seconds 0.05 --rounds 3',
    usual: '--seconds 0.5 --rounds 5',
    full: '--seconds 2 --rounds 9',
  },
  async run({ options, progress, signal }) {
    const block = Buffer.alloc(blockBytes, 'canary');
    const blocks = Math.max(1, Math.round((options.seconds * bytesPerSecond) / blockBytes));
    const values: number[] = [];
    for (let round = 0; round < options.rounds; round++) {
      signal.throwIfAborted();
      progress.update('measuring', round, options.rounds, 'the canary');
      const start = ownCpuMs();
      const hash = createHash('sha256');
      for (let i = 0; i < blocks * options.handicap; i++) hash.update(block);
      hash.digest();
      values.push(((ownCpuMs() - start) * 1_000) / blocks);
    }
    const spread = spreadOf(values);
    return {
      title: 'The canary: work of known length',
      method: [
        `SHA-256 of ${blocks} MiB, ${options.rounds} times, in CPU time; --handicap makes it do more.`,
      ],
      tables: [
        {
          title: 'CPU time',
          columns: (['median', 'least', 'most'] as const).map((key) => ({
            ...{ key, heading: key, unit: 'us/MiB', digits: 1 },
          })),
          rows: spread === null ? [] : [{ ...spread }],
        },
      ],
      charts: [],
      notes: ['It measures nothing of Quarry. It shows that a comparison finds what got slower.'],
      figures: [{ name: 'canary: CPU time per MiB', unit: 'us', better: 'less', values }],
      measured: values,
    };
  },
};

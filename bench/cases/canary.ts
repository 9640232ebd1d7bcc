import { createHash } from 'node:crypto';
import { ownCpuMs } from '../harness/cpu-time.ts';
import { singleFigureCase } from '../harness/single-figure-case.ts';

const block = Buffer.alloc(1 << 20, 'canary');
const bytesPerSecond = 200e6;

/**
 * Work of known duration; verifies that `--compare` detects a slowdown. `--handicap 2` doubles the work for
 * the same figure, so that a comparison with an earlier run must report a regression.
 */
export const canaryCase = singleFigureCase({
  name: 'canary',
  summary: 'work of known length; with --handicap a regression that --compare must detect',
  presets: {
    smoke: '--seconds 0.05 --rounds 3',
    usual: '--seconds 0.5 --rounds 5',
    full: '--seconds 2 --rounds 9',
  },
  method: 'SHA-256 of 200 MB for each second of --seconds, in CPU time; --handicap multiplies the work.',
  caveats: 'It measures nothing of Quarry. It shows that a comparison detects a regression.',
  figure: { metric: 'CPU time per MiB', unit: 'us', better: 'less' },
  measure({ seconds, handicap }) {
    const blocks = Math.max(1, Math.round((seconds * bytesPerSecond) / block.length));
    const start = ownCpuMs();
    const hash = createHash('sha256');
    for (let i = 0; i < blocks * handicap; i++) hash.update(block);
    hash.digest();
    return ((ownCpuMs() - start) * 1_000) / blocks;
  },
});

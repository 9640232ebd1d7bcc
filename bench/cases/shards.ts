import type { BenchCase } from '../harness/bench-case.ts';
import { searchFindings } from '../harness/search-findings.ts';
import { measureSearches } from '../harness/search-measurement.ts';

/** What does it cost a query that its collection is spread over more shards? */
export const shardsCase: BenchCase = {
  name: 'shards',
  summary: 'queries per second and latency over HTTP against the shard count of the collection',
  presets: {
    smoke:
      '--documents 40 --words 60 --questions 20 --seconds 0.3 --warm-up 0.1 --rounds 2 --connections 2 --shards 1,8',
    usual: '',
    full: '--documents 10000 --seconds 20 --rounds 5',
  },
  async run(context) {
    const { shards } = context.options;
    const measurement = await measureSearches(
      shards.map((count) => ({ name: `shards-${count}`, shards: count })),
      context,
    );
    return searchFindings({
      title: 'Queries over HTTP against the shard count',
      axis: { heading: 'shards', label: 'shards of the collection (logarithmic)', values: shards },
      measurement,
      options: context.options,
    });
  },
};

import type { BenchCase } from '../harness/bench-case.ts';
import { searchFindings } from '../harness/search-findings.ts';
import { measureSearches } from '../harness/search-measurement.ts';

/** What does it cost a query that its collection is spread over more shards? */
export const shardsCase: BenchCase = {
  name: 'shards',
  summary: 'queries per second and latency over HTTP against the shard count of the collection',
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

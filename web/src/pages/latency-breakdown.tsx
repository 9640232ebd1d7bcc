import { formatCount, formatDuration } from '../format/numbers.ts';
import type { SearchReplyBody } from './search-query.ts';

/** Time of a query by step, as a bar with a legend, and the work of each shard. */
export function LatencyBreakdown({ found }: { readonly found: SearchReplyBody }) {
  const { explanation, ms } = found;
  if (explanation === undefined) return null;
  const { embed, search, rerank, read } = explanation.ms;
  const steps = [
    ['Embedding', embed],
    ['Search', search],
    ['Reranking', rerank],
    ['Reading', read],
    ['Network and browser', Math.max(0, ms - embed - search - rerank - read)],
  ] as const;
  return (
    <details class="latency">
      <summary>
        <span class="latency-bar" aria-hidden="true">
          {steps.map(([name, duration], i) => (
            <span key={name} class={`step-${i}`} style={{ flexGrow: duration }} />
          ))}
        </span>
        Latency
      </summary>
      <dl>
        {steps.map(([name, duration], i) => (
          <div key={name}>
            <dt>
              <span class={`swatch step-${i}`} aria-hidden="true" />
              {name}
            </dt>
            <dd class="number">{formatDuration(duration)}</dd>
          </div>
        ))}
      </dl>
      {explanation.shards.length > 0 && (
        <div class="table-frame" tabIndex={0} role="group" aria-label="Shards">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Shard</th>
                <th scope="col">Strategy</th>
                <th scope="col">Candidates</th>
                <th scope="col">Time</th>
              </tr>
            </thead>
            <tbody>
              {explanation.shards.map(({ shard, strategy, candidates, ms: duration }) => (
                <tr key={shard}>
                  <td class="number">{formatCount(shard)}</td>
                  <td>{strategy}</td>
                  <td class="number">{formatCount(candidates)}</td>
                  <td class="number">{formatDuration(duration)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

import { formatCount, formatDuration } from '../format/numbers.ts';
import { texts } from '../texts/en/results.ts';
import type { SearchReplyBody } from './search-query.ts';

/** Time of a query on the server by step, as a bar with a legend, and the work of each shard. */
export function LatencyBreakdown({ found }: { readonly found: SearchReplyBody }) {
  const { explanation, ms } = found;
  if (explanation === undefined) return null;
  const { embed, search, rerank, read } = explanation.ms;
  const steps = [
    [texts.embedding, embed],
    [texts.search, search],
    [texts.reranking, rerank],
    [texts.reading, read],
  ] as const;
  const others = Math.max(0, ms - embed - search - rerank - read);
  return (
    <details class="latency">
      <summary>
        <span class="latency-bar" aria-hidden="true">
          {steps.map(([name, duration], i) => (
            <span key={name} class={`step-${i}`} style={{ flexGrow: duration }} />
          ))}
        </span>
        {texts.latency}
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
        <div>
          <dt>{texts.networkAndBrowser}</dt>
          <dd class="number">{formatDuration(others)}</dd>
        </div>
      </dl>
      {explanation.shards.length > 0 && (
        <div class="table-frame" tabIndex={0} role="group" aria-label={texts.shards}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{texts.shard}</th>
                <th scope="col">{texts.strategy}</th>
                <th scope="col">{texts.candidates}</th>
                <th scope="col">{texts.time}</th>
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

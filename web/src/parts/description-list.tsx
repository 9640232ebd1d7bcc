import type { ComponentChildren } from 'preact';

/** What is known of something: names beside their values. */
export function DescriptionList({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  return (
    <dl class="figures">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

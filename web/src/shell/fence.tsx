import { Component, type ComponentChildren } from 'preact';
import { NotLoaded } from '../parts/trouble.tsx';

interface FenceProps {
  /** The address: another one is another try. */
  readonly place: string;
  readonly children: ComponentChildren;
}

/** Where a page breaks, the rest of the dashboard stays; the browser's console has the details. */
export class Fence extends Component<FenceProps, { readonly error: unknown }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override state = { error: null as unknown };

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override componentDidUpdate(before: FenceProps): void {
    if (before.place !== this.props.place && this.state.error !== null) this.setState({ error: null });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <NotLoaded error={this.state.error} onRetry={() => this.setState({ error: null })} />;
  }
}

import { Component, type ComponentChildren } from 'preact';
import { LoadError } from '../components/error-message.tsx';

interface PageErrorBoundaryProps {
  /** URL of the page; a change resets the error. */
  readonly url: string;
  readonly children: ComponentChildren;
}

/**
 * Contains errors of a page, so that the rest of the dashboard keeps working. The browser console has the details.
 */
export class PageErrorBoundary extends Component<PageErrorBoundaryProps, { readonly error: unknown }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override state = { error: null as unknown };

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override componentDidUpdate(before: PageErrorBoundaryProps): void {
    if (before.url !== this.props.url && this.state.error !== null) this.setState({ error: null });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <LoadError error={this.state.error} onRetry={() => this.setState({ error: null })} />;
  }
}

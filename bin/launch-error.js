/** Reason why Quarry cannot start, with the remedy; the message is one or more sentences for the user. */
export class LaunchError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

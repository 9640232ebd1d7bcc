/** Quarry cannot start, and the user can fix the cause. The message is a whole sentence. */
export class LaunchError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A reason why Quarry cannot start that the person at the keyboard can mend; the message is a whole sentence. */
export class LaunchError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

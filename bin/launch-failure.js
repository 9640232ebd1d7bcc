/** A reason why Quarry cannot start that the person at the keyboard can mend; the message is a whole sentence. */
export class LaunchFailure extends Error {
  constructor(sentence, exitCode = 1) {
    super(sentence);
    this.exitCode = exitCode;
  }
}

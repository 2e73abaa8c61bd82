// Why an archive that others have packed cannot be used.

/** In words that follow "it". */
export class ArchiveFault extends Error {}

/** It holds more than it may. */
export class ArchiveTooLarge extends ArchiveFault {
  readonly what: 'bytes' | 'entries';
  constructor(what: ArchiveTooLarge['what'], message: string) {
    super(message);
    this.what = what;
  }
}

// Which of several operators publishes: the one that was elected last says so on the volume, and the one before notices there.
import { randomUUID } from 'node:crypto';
import { claimPath } from '../../catalogue/layout.ts';
import type { Volume } from './volume.ts';

/** Another operator has been elected since: what this one would publish may be older. */
export class Displaced extends Error {
  constructor() {
    super('another operator has claimed the volume');
  }
}

export class Claim {
  readonly #volume: Volume;
  readonly #displaced: (why: Displaced) => void;
  readonly #own = `${randomUUID()}\n`;
  #made = false;

  /** @param displaced called whenever a check finds another operator's claim */
  constructor(volume: Volume, displaced: (why: Displaced) => void) {
    this.#volume = volume;
    this.#displaced = displaced;
  }

  /** Once this operator has been elected, before it looks at anything. @throws SourceFault StorageFailed: the first check makes it then */
  async make(): Promise<void> {
    await this.#volume.write(claimPath, Buffer.from(this.#own));
    this.#made = true;
  }

  /** Right before something is published. @throws Displaced, SourceFault StorageFailed */
  async check(): Promise<void> {
    const there = this.#made ? await this.#volume.read(claimPath) : undefined;
    // A volume that was put in the other one's place has none.
    if (there === undefined) return await this.make();
    if (there.toString() === this.#own) return;
    const why = new Displaced();
    this.#displaced(why);
    throw why;
  }
}

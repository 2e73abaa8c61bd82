// Durations and quantities as specs write them: `5m`, `1h30m`; `4Mi`, `65536`.

/** The digits are bounded so that no sum within 16 characters passes what Kubernetes can hold. */
export const durationPattern = '^([1-9][0-9]{0,5}[hms])+$';
export const quantityPattern = '^[1-9][0-9]{0,11}(k|M|G|Ki|Mi|Gi)?$';

const seconds: Record<string, number> = { h: 3600, m: 60, s: 1 };
const bytes: Record<string, number> = { k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** @returns seconds @throws RangeError where the text is no duration; a parsed spec has none such */
export function parseDuration(duration: string): number {
  if (!new RegExp(durationPattern).test(duration)) throw new RangeError('a duration is written as 30s, 5m or 1h30m');
  const parts = [...duration.matchAll(/(\d+)([hms])/g)];
  return parts.reduce((sum, [, digits, unit]) => sum + Number(digits) * seconds[unit!]!, 0);
}

/** @returns bytes @throws RangeError where the text is no quantity; a parsed spec has none such */
export function parseQuantity(quantity: string): number {
  if (!new RegExp(quantityPattern).test(quantity)) throw new RangeError('a quantity is written as 65536, 512Ki or 4Mi');
  const [, digits, unit] = /^(\d+)(.*)$/.exec(quantity)!;
  return Number(digits) * (unit === '' ? 1 : bytes[unit!]!);
}

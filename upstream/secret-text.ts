// A value of a Secret as text.

/**
 * @param secret a Secret's keys and values
 * @returns the value without the line end that `kubectl create secret --from-file` brings along; empty where there is none
 */
export const secretText = (secret: ReadonlyMap<string, Buffer>, key: string): string =>
  secret
    .get(key)
    ?.toString('utf8')
    .replace(/\r?\n$/, '') ?? '';

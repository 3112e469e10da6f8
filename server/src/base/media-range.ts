const NAME = '[a-z0-9][a-z0-9!#$&^_.+-]{0,126}'

/** The pattern of a media type without parameters, or of all of a kind: `image/png`, `image/*` (RFC 9110 section 12.5.1). */
export const MEDIA_RANGE = `^${NAME}/(?:\\*|${NAME})$`

/** Whether a media type without parameters is within one of some ranges, each of which matches `MEDIA_RANGE`. */
export const isOfMediaRanges = (mediaType: string, ranges: readonly string[]): boolean =>
  ranges.some((range) =>
    range.endsWith('/*') ? mediaType.startsWith(range.slice(0, -1)) : mediaType === range,
  )

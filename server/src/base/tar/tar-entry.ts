// Apart from those who read it: the types of the package name it, and not the types of `tar-stream`.

/** An entry of a tar. `pieces` must be read to its end before the next entry is asked for. */
export type TarEntry = { name: string; size: number; pieces: AsyncIterable<Buffer> }
